"""builtins: functions, types and their methods, which every module can name without an import."""
