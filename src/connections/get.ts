import { Hono } from 'hono';
import { userAccess } from '../http/access';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { Connection, preloadConnection, presentConnection, requireConnection } from './connection';

export const getConnectionRoute = new Hono().get(
  '/v1/connections/:id',
  operation({
    id: 'getConnection',
    tag: 'Connections',
    summary: 'Get a connection',
    success: ok(Connection),
    pathId: 'conn',
  }),
  userAccess('connections:read', preloadConnection),
  noQuery(),
  async (c) => answer(c, presentConnection(requireConnection(c.var.loaded.connection))),
);
