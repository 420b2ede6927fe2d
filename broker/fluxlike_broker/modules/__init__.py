"""Services: shells around the pure core. They talk by message through the router, never by import."""
