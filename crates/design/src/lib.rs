//! Composite-key design files: planner, linter, cost.
