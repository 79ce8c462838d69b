ALTER TABLE `agents` ADD `wallets` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
UPDATE agents SET wallets = (SELECT json_group_array(json_array(wallet, 0)) FROM (
  SELECT lower(operational_wallet) AS wallet FROM escrows WHERE escrows.did = agents.did
  UNION SELECT lower(f.value ->> 'wallet') FROM escrows, json_each(escrows.former_wallets) f WHERE escrows.did = agents.did
  UNION SELECT lower(operational_wallet) FROM agent_markets WHERE agent_markets.did = agents.did
  UNION SELECT lower(pending_wallet) FROM agent_markets WHERE agent_markets.did = agents.did AND pending_wallet IS NOT NULL))
WHERE did IN (SELECT did FROM escrows UNION SELECT did FROM agent_markets);