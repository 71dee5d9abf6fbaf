/** Places on a flat picture: degrees to units, north up, one unit the same length both ways. */

export interface Spot {
  lat: number;
  lon: number;
}

export interface Frame {
  width: number;
  height: number;
  at: (spot: Spot) => { x: number; y: number };
}

export function frame(spots: Spot[], size = 1000, margin = 40): Frame {
  const lats = spots.map((one) => one.lat);
  const lons = spots.map((one) => one.lon);
  const south = Math.min(...lats);
  const north = Math.max(...lats);
  const west = Math.min(...lons);
  const east = Math.max(...lons);
  const narrow = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const wide = Math.max((east - west) * narrow, 1e-6);
  const tall = Math.max(north - south, 1e-6);
  const scale = size / Math.max(wide, tall * 1.4);
  return {
    width: wide * scale + 2 * margin,
    height: tall * scale + 2 * margin,
    at: ({ lat, lon }) => ({ x: margin + (lon - west) * narrow * scale, y: margin + (north - lat) * scale }),
  };
}
