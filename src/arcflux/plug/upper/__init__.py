"""Upper systems: graph systems that agents are plugged into. How to plug in another one: docs/how-to/plug.md."""
