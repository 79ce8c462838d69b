ALTER TABLE `payment_intents` ADD `intent_hash` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `payment_intents` ADD `operational_wallet` text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE `payment_intents` SET `intent_hash` = `intent_id`, `operational_wallet` = coalesce((SELECT `operational_wallet` FROM `escrows` WHERE `escrows`.`did` = `provider_did` AND `escrows`.`environment` = `payment_intents`.`environment` AND `escrows`.`network` = `payment_intents`.`network`), '');--> statement-breakpoint
CREATE UNIQUE INDEX `payment_intents_by_hash` ON `payment_intents` (`intent_hash`);
