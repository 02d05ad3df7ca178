"""The tables of ``run.db``.

A fact is one row. ``record`` columns hold the whole dataclass as JSON (see :mod:`results.codec`); the columns beside
them are generated from it for whoever queries the file with plain SQL, so nothing is stored twice.
"""

from __future__ import annotations

VERSION = 1
APPLICATION_ID = 0x65766F31  # "evo1": tells a run from any other SQLite file

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (hash TEXT PRIMARY KEY, text BLOB NOT NULL) WITHOUT ROWID;  -- zlib of UTF-8
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL,   -- results.records.Candidate without genome and sources
    genome TEXT NOT NULL,   -- genome.gene.to_json
    source TEXT NOT NULL REFERENCES sources(hash),
    source_opencl TEXT NOT NULL REFERENCES sources(hash),
    seconds REAL NOT NULL,
    agent TEXT AS (json_extract(record, '$.agent')),
    round INTEGER AS (json_extract(record, '$.round')),
    operation TEXT AS (json_extract(record, '$.operation')),
    predicted REAL AS (json_extract(record, '$.predicted'))
);
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE REFERENCES candidates(key),
    record TEXT NOT NULL,   -- gpu.records.Evaluation with all raw samples
    seconds REAL NOT NULL,  -- since the run began
    latency REAL,           -- seconds per launch, weighted geometric mean of the medians over the tune sizes
    gain REAL,              -- ln(baseline latency / latency)
    verdict TEXT AS (json_extract(record, '$.verdict')),
    reason TEXT AS (json_extract(record, '$.reason')),
    registers INTEGER AS (json_extract(record, '$.resources.registers')),
    spill_bytes INTEGER AS (json_extract(record, '$.resources.spill_bytes')),
    stack_bytes INTEGER AS (json_extract(record, '$.resources.stack_bytes')),
    shared_bytes INTEGER AS (json_extract(record, '$.resources.shared_bytes')),
    code_bytes INTEGER AS (json_extract(record, '$.resources.code_bytes')),
    occupancy REAL AS (json_extract(record, '$.resources.occupancy')),
    max_error REAL AS (json_extract(record, '$.max_error')),
    device_seconds REAL AS (json_extract(record, '$.device_seconds'))
);
CREATE TABLE confirmations (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL REFERENCES candidates(key),
    record TEXT NOT NULL,   -- gpu.interface.Confirmation
    seconds REAL NOT NULL,
    accepted INTEGER AS (json_extract(record, '$.accepted'))
);
CREATE INDEX confirmations_key ON confirmations(key);
CREATE TABLE refusals (
    code TEXT NOT NULL, mutator TEXT NOT NULL, reason TEXT NOT NULL,
    gene TEXT NOT NULL, agent TEXT NOT NULL, line INTEGER NOT NULL,  -- of the first one
    count INTEGER NOT NULL,
    PRIMARY KEY (code, mutator, reason)
) WITHOUT ROWID;
CREATE TABLE events (id INTEGER PRIMARY KEY, seconds REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX events_kind ON events(kind);
CREATE TABLE state (name TEXT PRIMARY KEY, value NOT NULL);
"""
