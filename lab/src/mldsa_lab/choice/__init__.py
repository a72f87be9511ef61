"""Choice of signing inputs for a goal, what is written of it, and ready-made selections."""
