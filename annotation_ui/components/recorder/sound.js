// The microphone as samples: 48 kHz, one channel, nothing done to them, and written down as 16-bit WAV.

const RATE_HZ = 48000;
const BLOCK_S = 0.1;
const WORKLET = `
  registerProcessor("interplay-tap", class extends AudioWorkletProcessor {
    process(inputs) {
      const channel = inputs[0][0];
      if (channel) this.port.postMessage(channel.slice());
      return true;
    }
  });
`;

class Microphone {
  // `onBlock(peak, rms)` is called every tenth of a second; `onLost()` when the device goes.
  constructor(onBlock, onLost) {
    Object.assign(this, { onBlock, onLost, kept: null });
  }

  get isOpen() {
    return this.stream?.active ?? false;
  }

  get label() {
    return this.stream?.getAudioTracks()[0]?.label ?? "";
  }

  get deviceId() {
    return this.stream?.getAudioTracks()[0]?.getSettings().deviceId ?? "";
  }

  get rate_hz() {
    return this.context?.sampleRate ?? 0;
  }

  async open(deviceId) {
    this.close();
    // What the browser does for calls would hide what the checks measure.
    const wanted = {
      channelCount: { ideal: 1 }, sampleRate: { ideal: RATE_HZ },
      echoCancellation: false, noiseSuppression: false, autoGainControl: false,
    };
    if (deviceId) wanted.deviceId = { exact: deviceId };
    const stream = await navigator.mediaDevices.getUserMedia({ audio: wanted });
    this.stream = stream;
    try {
      await this._listen(new AudioContext({ sampleRate: RATE_HZ }));
    } catch (error) {
      // Some browsers cannot join a device and a context of different rates.
      if (error.name !== "NotSupportedError") throw error;
      await this.context?.close();
      await this._listen(new AudioContext());
    }
    stream.getAudioTracks()[0].addEventListener("ended", () => this.stream === stream && this.onLost());
  }

  async _listen(context) {
    this.context = context;
    const source = context.createMediaStreamSource(this.stream);
    const code = URL.createObjectURL(new Blob([WORKLET], { type: "text/javascript" }));
    await context.audioWorklet.addModule(code);
    URL.revokeObjectURL(code);
    const tap = new AudioWorkletNode(context, "interplay-tap", {
      numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit", channelInterpretation: "speakers",
    });
    this.count = this.peak = this.power = 0;
    tap.port.onmessage = (event) => this._take(event.data);
    source.connect(tap);
    await context.resume();
  }

  _take(samples) {
    this.kept?.push(samples);
    for (const sample of samples) {
      this.peak = Math.max(this.peak, Math.abs(sample));
      this.power += sample * sample;
    }
    this.count += samples.length;
    if (this.count < BLOCK_S * this.rate_hz) return;
    this.onBlock(this.peak, Math.sqrt(this.power / this.count));
    this.count = this.peak = this.power = 0;
  }

  start() {
    this.kept = [];
  }

  // The take as WAV bytes; null when there was no sound.
  stop() {
    const chunks = this.kept ?? [];
    this.kept = null;
    return chunks.length ? encodeWav(chunks, this.rate_hz) : null;
  }

  close() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.context?.close().catch(() => undefined);
    this.stream = this.context = undefined;
  }
}

function encodeWav(chunks, rate_hz) {
  const count = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const view = new DataView(new ArrayBuffer(44 + 2 * count));
  const text = (at, letters) => [...letters].forEach((letter, place) => view.setUint8(at + place, letter.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * count, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate_hz, true);
  view.setUint32(28, 2 * rate_hz, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * count, true);
  let at = 44;
  for (const chunk of chunks) {
    for (const sample of chunk) {
      view.setInt16(at, Math.round(Math.max(-1, Math.min(1, sample)) * 32767), true);
      at += 2;
    }
  }
  return view.buffer;
}

async function sha256Of(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const decibels = (share) => 20 * Math.log10(Math.max(share, 1e-6));

// The last seconds in words: how loud the voice is, and what the room does behind it.
class Level {
  constructor() {
    this.blocks = [];
  }

  take(peak, rms) {
    this.blocks.push({ peak, rms_db: decibels(rms) });
    if (this.blocks.length > 50) this.blocks.shift();
  }

  get room_db() {
    if (this.blocks.length < 10) return null;
    return this.blocks.map((one) => one.rms_db).sort((a, b) => a - b)[Math.floor(this.blocks.length / 10)];
  }

  get room() {
    const room_db = this.room_db;
    if (room_db === null) return "measuring";
    return room_db < -55 ? "still_room" : room_db < -42 ? "fair_room" : "loud_room";
  }

  get voice() {
    const last = this.blocks.slice(-20);
    if (last.some((one) => one.peak >= 0.99)) return "clips";
    const loudest_db = Math.max(...last.map((one) => one.rms_db));
    if (this.blocks.length >= 30 && Math.max(...this.blocks.map((one) => one.peak)) < 1e-4) return "silent_device";
    if (loudest_db < Math.max(-50, (this.room_db ?? -90) + 8)) return "speak";
    return loudest_db < -34 ? "too_quiet" : "good";
  }
}
