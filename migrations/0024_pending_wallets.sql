ALTER TABLE `agent_markets` ADD `pending_wallet` text;--> statement-breakpoint
ALTER TABLE `agent_markets` ADD `pending_until` integer;--> statement-breakpoint
ALTER TABLE `agent_markets` ADD `pending_nonce` integer;--> statement-breakpoint
CREATE INDEX `agent_markets_pending` ON `agent_markets` (`pending_until`) WHERE pending_until is not null;