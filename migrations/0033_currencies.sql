PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE `__new_spend_ledger` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`currency` text NOT NULL,
	`at` integer NOT NULL,
	`total` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `currency`, `at`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spend_ledger`("did", "environment", "currency", "at", "total") SELECT "did", "environment", (SELECT i.`currency` FROM `payment_intents` i LIMIT 1), "at", "total" FROM `spend_ledger`;--> statement-breakpoint
DROP TABLE `spend_ledger`;--> statement-breakpoint
ALTER TABLE `__new_spend_ledger` RENAME TO `spend_ledger`;--> statement-breakpoint
PRAGMA foreign_keys=ON;--> statement-breakpoint
CREATE TABLE `__new_spend_sums` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`currency` text NOT NULL,
	`settled` integer NOT NULL,
	`open` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `currency`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_spend_sums`("did", "environment", "currency", "settled", "open") SELECT "did", "environment", (SELECT i.`currency` FROM `payment_intents` i LIMIT 1), "settled", "open" FROM `spend_sums`;--> statement-breakpoint
DROP TABLE `spend_sums`;--> statement-breakpoint
ALTER TABLE `__new_spend_sums` RENAME TO `spend_sums`;--> statement-breakpoint
ALTER TABLE `agents` ADD `settled_volumes` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `spend_holds` ADD `currency` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `spend_holds` SET `currency` = (SELECT i.`currency` FROM `payment_intents` i LIMIT 1);--> statement-breakpoint
UPDATE `agents` SET `settled_volumes` = json_object((SELECT i.`currency` FROM `payment_intents` i LIMIT 1), `settled_volume`) WHERE `settled_volume` > 0;--> statement-breakpoint
ALTER TABLE `agents` DROP COLUMN `settled_volume`;--> statement-breakpoint
UPDATE `agents` SET `revision` = `revision` + 1 WHERE `economic_role` <> 'CONSUMER' AND `status` <> 'DRAFT';
