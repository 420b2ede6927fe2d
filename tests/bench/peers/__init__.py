"""Systems that fluxlike is compared with. Each module starts one, measures it, stops it, and leaves nothing behind."""
