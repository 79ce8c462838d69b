DROP INDEX `payment_intents_by_provider`;--> statement-breakpoint
CREATE INDEX `payment_intents_by_provider` ON `payment_intents` (`provider_did`,`consumer_did`,`expires_at`,`opened_by`) WHERE status = 'OPEN';--> statement-breakpoint
ALTER TABLE `agents` ADD `earlier_key` text;