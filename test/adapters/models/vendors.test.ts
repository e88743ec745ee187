// What a new provider needs: a line in `contracts/vendors.ts`, a file in `adapters/models`, and an entry that the compiler asks for.
import { expect, test } from 'vitest';
import { connectModel } from '#adapters/models';
import { vendorList } from '#contracts';
import type { VendorType } from '#contracts';
import { resolveConfig } from '#core/registry';
import { vendorCode } from '../../../src/adapters/models/vendors.ts';

test('a vendor without code does not compile', () => {
  // @ts-expect-error: `acme` is missing in `vendorCode`.
  const withAcme: Readonly<Record<VendorType | 'acme', unknown>> = vendorCode;
  expect(Object.keys(withAcme)).toEqual(vendorList.map(({ type }) => type));
});

test('each vendor with an address is a provider without any config, and each can be connected to', () => {
  const { providers } = resolveConfig([]);
  expect(Object.keys(providers)).toEqual(
    vendorList.filter(({ baseUrl }) => baseUrl !== undefined).map(({ type }) => type),
  );
  for (const { type, baseUrl = 'http://127.0.0.1:9/v1' } of vendorList) {
    const resolved = { name: 'mine', type, baseUrl, apiKey: 'k', headers: {}, api: 'responses' } as const;
    expect(connectModel(resolved, 'some')).toMatchObject({ provider: 'mine', modelId: 'some' });
  }
});
