"""builtins: functions, types and their methods, which every module can use without an import."""
