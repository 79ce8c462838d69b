// Reads the token of `Authorization: Bearer` (RFC 9110, 11.4). The scheme may be in any case, followed by one or more spaces.
export const readBearer = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
