"""What the command prints: findings, codes, operators, statistics, progress."""
