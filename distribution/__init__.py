"""Makes the wheel, tries it in an empty environment, and lists the licences of what it needs and contains."""
