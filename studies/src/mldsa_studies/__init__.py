"""`mldsa-lab study`: how well a few inputs tell what signing costs on average and at percentiles.

Costs of many random inputs are collected once (`collect`, `callgrind`), then ways to choose and to
use a few of them are tried on these costs again and again (`plan`, `evaluate`).
"""
