CREATE TABLE `mainnet_trials` (
	`platform_id` text PRIMARY KEY NOT NULL,
	`asks` text NOT NULL,
	`total` integer NOT NULL
) WITHOUT ROWID;
