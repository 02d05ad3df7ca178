# Everything that a fresh clone needs; the work is in scripts/.
.PHONY: demo test nightly lint cuda clean

demo:
	@sh scripts/demo.sh

test:
	@sh scripts/setup.sh test
	@sh scripts/test.sh

nightly:
	@sh scripts/setup.sh test
	@sh scripts/test.sh nightly

lint:
	@sh scripts/setup.sh test
	@sh scripts/test.sh lint

cuda:
	@sh scripts/setup.sh cuda

clean:
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
