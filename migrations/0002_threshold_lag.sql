DROP INDEX `escrows_behind`;--> statement-breakpoint
ALTER TABLE `escrows` ADD `other_threshold` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `escrows` ADD `behind_since` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
UPDATE `escrows` SET
  `other_threshold` = coalesce((SELECT o.`threshold` FROM `escrows` AS o WHERE o.`did` = `escrows`.`did`
    AND o.`network` = `escrows`.`network` AND o.`environment` <> `escrows`.`environment`), 0),
  `behind_since` = unixepoch() * 1000;--> statement-breakpoint
CREATE INDEX `escrows_behind` ON `escrows` (`behind_since`,`did`,`environment`,`network`) WHERE max(threshold, other_threshold) <> chain_threshold;
