CREATE TABLE `spend_holds` (
	`did` text NOT NULL,
	`expires_at` integer NOT NULL,
	`intent_id` text NOT NULL,
	`amount` integer NOT NULL,
	PRIMARY KEY(`did`, `expires_at`, `intent_id`)
) WITHOUT ROWID;
