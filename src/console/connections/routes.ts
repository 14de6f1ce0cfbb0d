import { Hono } from 'hono';
import { preloadConnection } from '../../connections/connection';
import type { AppEnv, Scope } from '../../http/context';
import { consoleAccess } from '../session/access';
import {
  removeConnection,
  sendConnectionTest,
  showConnection,
  switchConnection,
} from './connection';
import {
  addConnection,
  editConnection,
  showConnectionForm,
  showNewConnection,
} from './connection-form';
import { showConnections } from './connections';

const WRITE_CONNECTIONS: Scope[] = ['connections:read', 'connections:write'];
/** For changes of where a credential is sent. */
const RECENT = { needsRecentSignIn: true };

/** The pages of connections. */
export const connectionPages = new Hono<AppEnv>()
  .get('/console/connections', consoleAccess('connections:read'), showConnections)
  .get('/console/connections/new', consoleAccess(WRITE_CONNECTIONS), showNewConnection)
  .post('/console/connections', consoleAccess(WRITE_CONNECTIONS, undefined, RECENT), addConnection)
  .get('/console/connections/:id', consoleAccess('connections:read', preloadConnection), (c) =>
    showConnection(c),
  )
  .get(
    '/console/connections/:id/edit',
    consoleAccess(WRITE_CONNECTIONS, preloadConnection),
    showConnectionForm,
  )
  .post(
    '/console/connections/:id/edit',
    consoleAccess(WRITE_CONNECTIONS, preloadConnection, RECENT),
    editConnection,
  )
  .post(
    '/console/connections/:id/switch',
    consoleAccess(WRITE_CONNECTIONS, preloadConnection),
    switchConnection,
  )
  .post('/console/connections/:id/delete', consoleAccess(WRITE_CONNECTIONS), removeConnection)
  .post(
    '/console/connections/:id/test',
    consoleAccess(WRITE_CONNECTIONS, preloadConnection),
    sendConnectionTest,
  );
