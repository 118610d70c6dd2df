import Foundation
import TortureKit

/// A file's bytes with what is needed to damage them where it hurts: its pages and their kinds.
struct DamagedImage {
  var bytes: [UInt8]
  let pageSize: Int
  /// Pages by kind: leaves, branches, overflow.
  private(set) var leaves: [Int] = []
  private(set) var branches: [Int] = []
  private(set) var overflows: [Int] = []

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let size =
      bytes.count >= 152
      ? bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 40, as: UInt32.self)) } : 0
    pageSize = (512...65536).contains(size) ? size : 4096
    for page in 2..<max(2, pages) {
      switch load(page * pageSize + 10, as: UInt16.self) {
      case 1: branches.append(page)
      case 2, 0x22: leaves.append(page)
      case 4: overflows.append(page)
      default: break
      }
    }
  }

  var pages: Int { bytes.count / pageSize }

  func load<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }

  mutating func set<Number: FixedWidthInteger>(_ offset: Int, _ number: Number) {
    guard offset >= 0, offset + MemoryLayout<Number>.size <= bytes.count else { return }
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: offset, as: Number.self) }
  }

  /// Where an entry of a page begins; nil when there is none.
  func node(_ page: Int, _ random: inout SeededGenerator) -> Int? {
    let start = page * pageSize
    let count = (Int(load(start + 12, as: UInt16.self)) - 16) / 2
    guard count > 0, count <= pageSize / 4 else { return nil }
    let offset = Int(load(start + 16 + 2 * random.below(count), as: UInt16.self))
    return offset + 8 <= pageSize ? start + offset : nil
  }
}

/// The ways a file is damaged.
enum Damage: String, CaseIterable {
  case flips, header, anchor, records, truncation, extension_, pages, cycle, freeList, node, overflow, zeros,
    noise,
    mixture

  /// Damages the image.
  func apply(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    let size = image.pageSize
    guard image.bytes.count > 2 * size else { return }
    switch self {
    case .flips:
      for _ in 0...random.below(8) {
        image.bytes[random.below(image.bytes.count)] ^= 1 << UInt8(random.below(8))
      }
    case .header:
      for _ in 0...random.below(3) {
        let page = random.below(image.pages)
        image.bytes[page * size + random.below(page < 2 ? 152 : 48)] ^= UInt8(1 + random.below(255))
      }
    case .anchor:
      for _ in 0...random.below(2) { anchor(&image, &random) }
    case .records: records(&image, &random)
    case .truncation:
      let length = random.chance(50) ? random.below(image.pages) * size : random.below(image.bytes.count)
      image.bytes.removeLast(image.bytes.count - length)
    case .extension_:
      image.bytes += random.chance(50) ? [UInt8](repeating: 0, count: size * 3) : random.bytes(size + 100)
    case .pages:
      let (from, to) = (random.below(image.pages) * size, random.below(image.pages) * size)
      let (first, second) = (Array(image.bytes[from..<(from + size)]), Array(image.bytes[to..<(to + size)]))
      image.bytes.replaceSubrange(to..<(to + size), with: first)
      if random.chance(70) { image.bytes.replaceSubrange(from..<(from + size), with: second) }
      // Now and then the pages' numbers are put right, so that the lie is believed for longer.
      if random.chance(60) {
        image.set(to, UInt64(to / size))
        image.set(from, UInt64(from / size))
      }
    case .cycle: cycle(&image, &random)
    case .freeList: freeList(&image, &random)
    case .node: for _ in 0...random.below(3) { node(&image, &random) }
    case .overflow:
      guard let page = random.pickAny(image.overflows) else { return }
      image.set(
        page * size + random.pick([12, 0, 10]),
        random.pick([0, 1, 2, 0xFFFF, UInt32.max, UInt32(image.pages)]))
    case .zeros, .noise:
      let start = random.below(image.pages) * size + random.pick([0, 0, 512, 2048])
      let length = min(image.bytes.count - start, random.pick([512, 1024, size]))
      let filling = self == .zeros ? [UInt8](repeating: 0, count: length) : random.bytes(length)
      image.bytes.replaceSubrange(start..<(start + length), with: filling)
    case .mixture:
      for _ in 0...(1 + random.below(3)) {
        random.pick(Damage.allCases.filter { $0 != .mixture && $0 != .truncation }).apply(&image, &random)
      }
    }
  }

  /// A number that some check may have forgotten.
  private func number(_ image: DamagedImage, _ random: inout SeededGenerator) -> UInt64 {
    let pages = UInt64(image.pages)
    return random.pick([
      0, 1, 2, 3, pages - 1, pages, pages + 1, 0x7FFF, 0xFFFF, 0x1_0000, UInt64(UInt32.max), .max, .max - 1,
      1 << 47,
      1 << 63, UInt64(random.below(image.pages)), UInt64(random.below(image.pages)), random.next(),
    ])
  }

  private func anchor(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    let start = random.below(2) * image.pageSize
    let fields = [
      0, 10, 16, 20, 24, 32, 40, 44, 46, 48, 56, 64, 72, 80, 88, 92, 94, 96, 104, 112, 120, 128, 136, 144,
    ]
    let field = start + random.pick(fields)
    let number = number(image, &random)
    switch random.below(3) {
    case 0: image.set(field, number)
    case 1: image.set(field, UInt16(truncatingIfNeeded: number))
    default: image.bytes[field] ^= 1 << UInt8(random.below(8))
    }
    // The other way to lose a save: both anchors alike, or exchanged.
    if random.chance(10) {
      let size = image.pageSize
      image.bytes.replaceSubrange(0..<152, with: Array(image.bytes[size..<(size + 152)]))
      if random.chance(50) { image.set(0, UInt64(0)) }
    }
  }

  /// Records of keyspaces: 48 bytes behind an entry marked 2.
  private func records(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    for _ in 0..<40 {
      guard let page = random.pickAny(image.leaves), let node = image.node(page, &random),
        image.load(node + 4, as: UInt16.self) == 2
      else { continue }
      let record = node + 8 + Int(image.load(node + 6, as: UInt16.self))
      let number = number(image, &random)
      switch random.below(5) {
      case 0: image.set(record + 4, UInt16(truncatingIfNeeded: random.pick([4, 8, 16, 32, 64, 0x8000])))
      case 1: image.set(record + 6, UInt16(truncatingIfNeeded: number))
      case 2: image.set(record + 40, number)
      default: image.set(record + random.pick([8, 16, 24, 32]), number)
      }
      return
    }
  }

  /// A branch that leads to itself, up, or across.
  private func cycle(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    let size = image.pageSize
    guard let page = random.pickAny(image.branches), let node = image.node(page, &random) else {
      // Without branches: the root of everything.
      image.set(random.below(2) * size + 128, number(image, &random))
      return
    }
    let target = random.pick([page, random.pick(image.branches), random.below(image.pages)])
    image.set(node, UInt32(target))
    if random.chance(20) { image.set(node + 4, UInt16(truncatingIfNeeded: random.next())) }
  }

  private func freeList(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    let size = image.pageSize
    let anchors = [image.load(144, as: UInt64.self), image.load(size + 144, as: UInt64.self)]
    let newest = anchors[0] > anchors[1] ? 0 : size
    let root = image.load(newest + 80, as: UInt64.self)
    guard root < UInt64(image.pages), let node = image.node(Int(root), &random) else {
      image.set(newest + 80, number(image, &random))
      return
    }
    let value =
      image.load(node + 4, as: UInt16.self) == 1
      ? Int(clamping: image.load(node + 16, as: UInt64.self) % UInt64(image.pages)) * size + 16 : node + 16
    let count = image.load(min(value, image.bytes.count - 8), as: UInt64.self)
    let place = value + 8 * (random.chance(20) ? 0 : 1 + random.below(Int(clamping: min(count, 100)) + 1))
    image.set(place, random.chance(60) ? UInt64(2 + random.below(image.pages)) : number(image, &random))
  }

  private func node(_ image: inout DamagedImage, _ random: inout SeededGenerator) {
    guard let page = random.pickAny(random.chance(70) ? image.leaves : image.branches),
      let node = image.node(page, &random)
    else { return }
    let number = number(image, &random)
    switch random.below(6) {
    case 0: image.set(node + 6, UInt16(truncatingIfNeeded: number))
    case 1: image.set(node + 4, UInt16(truncatingIfNeeded: random.pick([0, 1, 2, 3, 4, 6, 8, 0xFFFF])))
    case 2: image.set(node, UInt16(truncatingIfNeeded: number))
    case 3: image.set(node + 2, UInt16(truncatingIfNeeded: number))
    case 4:
      image.bytes[min(node + 8 + random.below(16), image.bytes.count - 1)] ^= 1 << UInt8(random.below(8))
    default:
      let pointer = page * image.pageSize + 16 + 2 * random.below(8)
      image.set(pointer, UInt16(truncatingIfNeeded: random.chance(50) ? number : UInt64(random.below(4096))))
    }
  }
}
