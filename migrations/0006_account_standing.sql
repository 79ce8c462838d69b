ALTER TABLE `principals` ADD `account_stopped` text;--> statement-breakpoint
UPDATE `principals` SET `account_stopped` = (SELECT a.`status` FROM `platforms` AS a WHERE a.`platform_id` = `principals`.`platform_id`)
WHERE `platform_id` IN (SELECT a.`platform_id` FROM `platforms` AS a WHERE a.`status` IN ('SUSPENDED', 'CLOSED'));--> statement-breakpoint
ALTER TABLE `cascades` RENAME COLUMN `principal_id` TO `subject_id`;--> statement-breakpoint
CREATE INDEX `agents_stopped_by_operator` ON `agents` (`platform_id`,`created_at`,`did`) WHERE suspension_reason = 'operator';--> statement-breakpoint
CREATE TABLE `__new_escrows` (
	`did` text NOT NULL,
	`environment` text NOT NULL,
	`network` text NOT NULL,
	`platform_id` text NOT NULL,
	`currency` text NOT NULL,
	`vault` text NOT NULL,
	`operational_wallet` text NOT NULL,
	`balance` integer DEFAULT 0 NOT NULL,
	`base_threshold` integer NOT NULL,
	`threshold` integer NOT NULL,
	`other_threshold` integer DEFAULT 0 NOT NULL,
	`chain_threshold` integer NOT NULL,
	`behind_since` integer DEFAULT 0 NOT NULL,
	`state` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`did`, `environment`, `network`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_escrows`("did", "environment", "network", "platform_id", "currency", "vault", "operational_wallet", "balance", "base_threshold", "threshold", "other_threshold", "chain_threshold", "behind_since", "state", "updated_at")
SELECT e."did", e."environment", e."network", a."platform_id", e."currency", e."vault", e."operational_wallet", e."balance", e."base_threshold", e."threshold", e."other_threshold", e."chain_threshold", e."behind_since", e."state", e."updated_at"
FROM `escrows` AS e JOIN `agents` AS a ON a.`did` = e.`did`;--> statement-breakpoint
DROP TABLE `escrows`;--> statement-breakpoint
ALTER TABLE `__new_escrows` RENAME TO `escrows`;--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`behind_since`,`did`,`environment`,`network`) WHERE max(threshold, other_threshold) <> chain_threshold;--> statement-breakpoint
CREATE INDEX `escrows_holding` ON `escrows` (`platform_id`) WHERE environment = 'production' and balance > 0;
