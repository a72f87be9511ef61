"""`mldsa-lab study`: the accuracy of signing costs, on average and at percentiles, from a few
inputs.

Costs of many random inputs are collected once (`collect`, `callgrind`). Ways to choose and to use a
few of them are then tried on these costs many times (`choices`, `evaluate`).
"""
