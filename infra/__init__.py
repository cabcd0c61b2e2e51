"""What makes and keeps an installation on AWS."""
