"""`mldsa-lab study`: how well a few inputs tell what signing costs on average and at percentiles.

Costs of many random inputs are collected once (`collect`, `callgrind`). Ways to choose and to use a
few of them are then tried on these costs many times (`choices`, `evaluate`).
"""
