CREATE TABLE `named_wallets` (
	`did` text NOT NULL,
	`network` text NOT NULL,
	`wallet` text NOT NULL,
	`since` integer NOT NULL,
	PRIMARY KEY(`did`, `network`, `wallet`)
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `followers` ADD `turned` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
INSERT OR IGNORE INTO `named_wallets` (`did`, `network`, `wallet`, `since`)
SELECT escrows.did, escrows.network, lower(f.value ->> 'wallet'), 0 FROM escrows, json_each(escrows.former_wallets) f
WHERE f.value ->> 'until' = 9007199254740991;--> statement-breakpoint
UPDATE escrows SET former_wallets = (SELECT json_group_array(json(value)) FROM json_each(escrows.former_wallets)
  WHERE value ->> 'until' < 9007199254740991)
WHERE former_wallets LIKE '%9007199254740991%';
