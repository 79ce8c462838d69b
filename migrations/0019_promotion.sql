PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_rating_counterparties` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`counterparty_principal_id` text NOT NULL,
	`weight` real NOT NULL,
	`weighted` real NOT NULL,
	PRIMARY KEY(`did`, `environment`, `counterparty_principal_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_rating_counterparties`("did", "environment", "counterparty_principal_id", "weight", "weighted") SELECT "did", coalesce((SELECT a.`environment` FROM `agents` a WHERE a.`did` = `rating_counterparties`.`did`), 'sandbox'), "counterparty_principal_id", "weight", "weighted" FROM `rating_counterparties`;--> statement-breakpoint
DROP TABLE `rating_counterparties`;--> statement-breakpoint
ALTER TABLE `__new_rating_counterparties` RENAME TO `rating_counterparties`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE INDEX `rating_counterparties_heaviest` ON `rating_counterparties` (`did`,`environment`,`weight`);--> statement-breakpoint
CREATE TABLE `__new_spend_holds` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`expires_at` integer NOT NULL,
	`intent_id` text NOT NULL,
	`amount` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `expires_at`, `intent_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spend_holds`("did", "environment", "expires_at", "intent_id", "amount") SELECT "did", coalesce((SELECT a.`environment` FROM `agents` a WHERE a.`did` = `spend_holds`.`did`), 'sandbox'), "expires_at", "intent_id", "amount" FROM `spend_holds`;--> statement-breakpoint
DROP TABLE `spend_holds`;--> statement-breakpoint
ALTER TABLE `__new_spend_holds` RENAME TO `spend_holds`;--> statement-breakpoint
CREATE TABLE `__new_spend_ledger` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `at`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spend_ledger`("did", "environment", "at", "total") SELECT "did", coalesce((SELECT a.`environment` FROM `agents` a WHERE a.`did` = `spend_ledger`.`did`), 'sandbox'), "at", "total" FROM `spend_ledger`;--> statement-breakpoint
DROP TABLE `spend_ledger`;--> statement-breakpoint
ALTER TABLE `__new_spend_ledger` RENAME TO `spend_ledger`;--> statement-breakpoint
CREATE TABLE `__new_spend_sums` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`settled` integer NOT NULL,
	`open` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spend_sums`("did", "environment", "settled", "open") SELECT "did", coalesce((SELECT a.`environment` FROM `agents` a WHERE a.`did` = `spend_sums`.`did`), 'sandbox'), "settled", "open" FROM `spend_sums`;--> statement-breakpoint
DROP TABLE `spend_sums`;--> statement-breakpoint
ALTER TABLE `__new_spend_sums` RENAME TO `spend_sums`;--> statement-breakpoint
ALTER TABLE `agents` ADD `promoted_at` integer;--> statement-breakpoint
ALTER TABLE `escrows` ADD `contributed` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `escrows` ADD `elsewhere` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `escrows` SET `contributed` = coalesce((SELECT sum(x.`escrow`) FROM `transactions` x WHERE x.`provider_did` = `escrows`.`did` AND x.`environment` = `escrows`.`environment` AND x.`network` = `escrows`.`network`), 0);
