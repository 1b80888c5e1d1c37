"""The output of the command: findings, codes, operators, statistics, progress."""
