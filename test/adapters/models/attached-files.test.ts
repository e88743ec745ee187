// Images and PDFs reach every vendor in its own format, over real HTTP.
import { defineAgent, openCloister } from 'cloister';
import { expect, test } from 'vitest';
import { modelFacts } from '#adapters/models';
import { pdfOf, pngOf } from '../../app/sample-files.ts';
import { openModel, providers } from './peer.ts';
import type { Provider } from './peer.ts';

const [png, pdf] = [Buffer.from(pngOf(4, 3)), Buffer.from(pdfOf(1))];

const sendTo = async (provider: Provider, mediaType: string, data: Uint8Array) => {
  await using peer = { ...(await openModel(provider, [{ text: 'Seen.' }])), [Symbol.asyncDispose]: () => peer.close() };
  const { attachments = ['image/*', 'application/pdf'] } = await modelFacts(provider.type, provider.modelId);
  const agent = defineAgent({
    name: 'reader',
    description: 'Reads.',
    prompt: 'Read.',
    models: [{ language: peer.model, attachments }],
  });
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const { status, output, run } = await cloister.run('reader', 'What is it?', {
    attachments: [{ mediaType, data, name: 'a-file' }],
  }).outcome;
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  return { status, output, body: peer.bodies.join('\n') };
};

const all = Object.entries(providers as Record<string, Provider>);

test.for(all)('%s is sent the bytes of an image', async ([, provider]) => {
  const { status, output, body } = await sendTo(provider, 'image/png', png);
  expect([status, output]).toEqual(['completed', 'Seen.']);
  expect(body).toContain(png.toString('base64'));
  expect(body).toContain('image/png');
});

test.for(all)('%s is sent the bytes of a PDF', async ([, provider]) => {
  const { status, body } = await sendTo(provider, 'application/pdf', pdf);
  expect(status).toBe('completed');
  expect(body).toContain(pdf.toString('base64'));
});
