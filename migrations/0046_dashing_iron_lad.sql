ALTER TABLE `disputes` ADD `consumer_evidence` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `consumer_principal_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `provider_principal_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `provider_principal_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `consumer_principal_id` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `disputes` SET `consumer_evidence` = (SELECT count(*) FROM `dispute_evidence` e WHERE e.`dispute_id` = `disputes`.`dispute_id` AND e.`submitted_by` = 'consumer') WHERE `evidence` > 0;--> statement-breakpoint
UPDATE `payment_intents` SET
  `consumer_principal_id` = coalesce((SELECT a.`principal_id` FROM `agents` a WHERE a.`did` = `consumer_did`), ''),
  `provider_principal_id` = coalesce((SELECT a.`principal_id` FROM `agents` a WHERE a.`did` = `provider_did`), '');--> statement-breakpoint
UPDATE `tasks` SET
  `provider_principal_id` = coalesce((SELECT a.`principal_id` FROM `agents` a WHERE a.`did` = `provider_did`), ''),
  `consumer_principal_id` = coalesce((SELECT a.`principal_id` FROM `agents` a WHERE a.`did` = `consumer_did`), '');
