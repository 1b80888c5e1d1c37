"""The abstract domain: values, stores, joins."""
