"""Pictures of the dashboard for README and docs: `make screenshots` takes them anew."""
