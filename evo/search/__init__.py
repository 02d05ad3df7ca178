"""The search: population, policy, arena, reward. Nothing here knows a device; :mod:`evo.engine` joins the parts."""
