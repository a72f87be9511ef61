"""What runs measure: a workload each, with the plan of its runs."""
