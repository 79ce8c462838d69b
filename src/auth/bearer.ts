// The one reader of `Authorization: Bearer` (RFC 9110, 11.4): the scheme in any case, one space or more, a token.
export const bearerOf = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
