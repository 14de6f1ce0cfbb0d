import { Hono } from 'hono';
import type { AppEnv } from '../../http/context';
import { query } from '../../http/input';
import { consoleAccess, consoleRoute } from '../session/access';
import { decidePairing, showPairing } from './pair';
import { PairingRequest } from './request';

const PATH = '/console/pair';

/** The page that confirms a pairing. Invalid query parameters are refused before anybody has to sign in. */
export const pairRoutes = new Hono<AppEnv>()
  .get(PATH, consoleRoute, query(PairingRequest), consoleAccess(null), (c) => showPairing(c, c.req.valid('query')))
  .post(PATH, consoleRoute, query(PairingRequest), consoleAccess(null), (c) => decidePairing(c, c.req.valid('query')));
