DROP INDEX `escrows_behind`;--> statement-breakpoint
ALTER TABLE `escrows` ADD `behind_since` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`behind_since`,`did`,`environment`,`network`) WHERE threshold <> chain_threshold;--> statement-breakpoint
UPDATE `escrows` SET `behind_since` = unixepoch() * 1000 WHERE `threshold` <> `chain_threshold`;
