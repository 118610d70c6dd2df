import Foundation
import Testing

@testable import StrataCore

/// The rules of inspection one by one: one planted contradiction each, and the page that the error must name.
@Suite struct InspectionRuleTests {
  @Test(arguments: PlantedDamage.all) func plantedDamageIsFound(damage: PlantedDamage) throws {
    let directory = try ScratchDirectory()
    var store = try StoreImage(StoreShape.sample())
    try store.check()
    let page = try #require(damage.plant(&store))
    try Data(store.bytes).write(to: URL(fileURLWithPath: directory("A")))
    let error = try storageError { try inspect(directory("A")) }
    #expect(error.kind == damage.kind, "\(error)")
    #expect(error.page == UInt64(page), "\(error)")
    #expect(error.detail.contains(damage.reason), "\(error)")
  }

  /// LMDB leaves behind files that are shorter than their last page; that is no damage.
  @Test func aLastPageThatWasNeverWrittenIsNoDamage() throws {
    let directory = try ScratchDirectory()
    var store = try StoreImage(StoreShape.sample())
    let meta = store.newestMeta
    store.set(meta * 4096 + 136, store.load(meta * 4096 + 136, as: UInt64.self) + 7)
    try Data(store.bytes).write(to: URL(fileURLWithPath: directory("A")))
    try inspect(directory("A"))
  }
}

/// A contradiction to plant into a store.
struct PlantedDamage: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var reason: String
  var kind = StorageError.Kind.damaged
  /// Plants it; the page that must be blamed.
  var plant: @Sendable (inout StoreImage) -> Int?

  static let all: [PlantedDamage] = [
    .init(testDescription: "child beyond the file", reason: "it needs page", kind: .truncated) { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      let last = store.newestMeta * 4096 + 136
      let beyond = store.load(last, as: UInt64.self) + 20
      store.set(last, beyond + 30)
      store.set(store.node(branch, 1), UInt32(beyond))
      return branch
    },
    .init(testDescription: "transaction number without a next one", reason: "cannot have happened") { store in
      let meta = store.newestMeta
      store.set(meta * 4096 + 144, UInt64.max - 1 + UInt64(meta))
      return meta
    },
    .init(testDescription: "page number", reason: "numbered 999") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096, UInt64(999))
      return leaf
    },
    .init(testDescription: "page kind", reason: "marked 1") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096 + 10, PageFlags.branch)
      return leaf
    },
    .init(testDescription: "free space", reason: "free space") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096 + 12, UInt16(4090))
      return leaf
    },
    .init(testDescription: "no entries", reason: "has 0 entries") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096 + 12, UInt16(16))
      return leaf
    },
    .init(testDescription: "one branch", reason: "has 1 entries") { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      store.set(branch * 4096 + 12, UInt16(18))
      return branch
    },
    .init(testDescription: "node outside", reason: "cannot begin") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096 + 16, UInt16(4094))
      return leaf
    },
    .init(testDescription: "node twice", reason: "two entries") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(leaf * 4096 + 16, store.load(leaf * 4096 + 18, as: UInt16.self))
      return leaf
    },
    .init(testDescription: "gap between nodes", reason: "gap") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      let upper = store.load(leaf * 4096 + 14, as: UInt16.self)
      store.set(leaf * 4096 + 14, upper - 2)
      return leaf
    },
    .init(testDescription: "key too long", reason: "key of 600 bytes") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(store.node(leaf, 0) + 6, UInt16(600))
      return leaf
    },
    .init(testDescription: "key of nothing", reason: "key of 0 bytes") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(store.node(leaf, 0) + 6, UInt16(0))
      return leaf
    },
    .init(testDescription: "value too long", reason: "ends outside") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(store.node(leaf, 0), UInt16(5000))
      return leaf
    },
    .init(testDescription: "unknown mark", reason: "marked 4") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      store.set(store.node(leaf, 0) + 4, UInt16(4))
      return leaf
    },
    .init(testDescription: "keys out of order", reason: "out of order") { store in
      guard let leaf = store.page(PageFlags.leaf) else { return nil }
      let first = store.load(leaf * 4096 + 16, as: UInt16.self)
      store.set(leaf * 4096 + 16, store.load(leaf * 4096 + 18, as: UInt16.self))
      store.set(leaf * 4096 + 18, first)
      return leaf
    },
    .init(testDescription: "key of another page", reason: "another page") { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      let leaf = store.child(branch, 0)
      store.set(store.node(leaf, store.count(leaf) - 1) + 8, UInt8(255))
      return leaf
    },
    .init(testDescription: "page twice", reason: "used twice") { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      let first = store.child(branch, 0)
      // The first branch stands for everything below the second, so only a repeated page is wrong.
      store.set(store.node(branch, 1), UInt16(first))
      return first
    },
    .init(testDescription: "child outside", reason: "refers to page 60000") { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      store.set(store.node(branch, 1), UInt16(60000))
      return branch
    },
    .init(testDescription: "child is an anchor", reason: "refers to page 1,") { store in
      guard let branch = store.page(PageFlags.branch) else { return nil }
      store.set(store.node(branch, 1), UInt16(1))
      return branch
    },
    .init(testDescription: "overflow number", reason: "numbered 5") { store in
      guard let page = store.page(PageFlags.overflow) else { return nil }
      store.set(page * 4096, UInt64(5))
      return page
    },
    .init(testDescription: "overflow kind", reason: "overflow page is marked 2") { store in
      guard let page = store.page(PageFlags.overflow) else { return nil }
      store.set(page * 4096 + 10, PageFlags.leaf)
      return page
    },
    .init(testDescription: "overflow too short", reason: "is said to fit into") { store in
      guard let page = store.page(PageFlags.overflow) else { return nil }
      store.set(page * 4096 + 12, store.load(page * 4096 + 12, as: UInt32.self) - 1)
      return page
    },
    .init(testDescription: "overflow too long", reason: "ends after the last page") { store in
      guard let page = store.page(PageFlags.overflow) else { return nil }
      store.set(page * 4096 + 12, UInt32.max)
      return page
    },
    .init(testDescription: "entry count", reason: "is said to have") { store in
      let record = store.keyspace(0)
      store.set(record.offset + 32, store.load(record.offset + 32, as: UInt64.self) + 1)
      return record.page
    },
    .init(testDescription: "depth", reason: "branch page is marked 2") { store in
      let record = store.keyspace(0)
      store.set(record.offset + 6, UInt16(store.load(record.offset + 6, as: UInt16.self) + 1))
      return Int(store.load(record.offset + 40, as: UInt64.self)).nonLeaf(in: store)
    },
    .init(testDescription: "depth beyond all bounds", reason: "cannot be 77 pages deep") { store in
      let record = store.keyspace(0)
      store.set(record.offset + 6, UInt16(77))
      return record.page
    },
    .init(testDescription: "root outside", reason: "refers to page 88888") { store in
      let record = store.keyspace(0)
      store.set(record.offset + 40, UInt64(88888))
      return record.page
    },
    .init(testDescription: "lost root", reason: "tree without pages") { store in
      let record = store.keyspace(0)
      store.set(record.offset + 40, TreeRecord.noPage)
      return record.page
    },
    .init(
      testDescription: "keyspace of another kind", reason: "has the flags 4", kind: .unsupportedFormat
    ) { store in
      let record = store.keyspace(0)
      store.set(record.offset + 4, UInt16(4))
      return record.page
    },
    .init(testDescription: "free page in use", reason: "used or listed twice") { store in
      guard let list = store.freeList, let leaf = store.page(PageFlags.leaf) else { return nil }
      // One entry, so that the order of the list stays right.
      store.set(list.offset, UInt64(1))
      store.set(list.offset + 8, UInt64(leaf))
      return list.page
    },
    .init(testDescription: "free list unsorted", reason: "not sorted") { store in
      guard let list = store.freeList else { return nil }
      store.set(list.offset, UInt64(2))
      let first = store.load(list.offset + 8, as: UInt64.self)
      store.set(list.offset + 16, first)
      return list.page
    },
    .init(testDescription: "free list too long", reason: "has room for") { store in
      guard let list = store.freeList else { return nil }
      store.set(list.offset, UInt64(1) << 40)
      return list.page
    },
    .init(testDescription: "free since the future", reason: "has not happened") { store in
      guard let list = store.freeList else { return nil }
      store.set(list.key, UInt64(1) << 40)
      return list.page
    },
    .init(testDescription: "anchor parity", reason: "belongs into the other") { store in
      let offset = store.newestMeta * 4096 + 144
      store.set(offset, store.load(offset, as: UInt64.self) + 1)
      return store.newestMeta
    },
    .init(testDescription: "page sizes differ", reason: "4096 and 8192") { store in
      store.set(4096 + 40, UInt32(8192))
      return 1
    },
    .init(testDescription: "impossible page size", reason: "page size of 5000") { store in
      store.set(40, UInt32(5000))
      return 0
    },
    .init(testDescription: "last page outside the map", reason: "outside the map") { store in
      let meta = store.newestMeta
      store.set(meta * 4096 + 136, store.load(meta * 4096 + 32, as: UInt64.self) / 4096)
      return meta
    },
    .init(testDescription: "free list's flags", reason: "free list has the flags") { store in
      store.set(store.newestMeta * 4096 + 44, UInt16(0x400C))
      return store.newestMeta
    },
  ]
}

/// The bytes of a store with 4096-byte pages, to look into and to break. Knows only what the tests need.
struct StoreImage {
  var bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func check() throws { try #require(bytes.count % 4096 == 0 && bytes.count > 8192) }

  func load<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }

  mutating func set<Number: FixedWidthInteger>(_ offset: Int, _ number: Number) {
    bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: offset, as: Number.self) }
  }

  /// The number of the anchor that counts.
  var newestMeta: Int { load(144, as: UInt64.self) < load(4096 + 144, as: UInt64.self) ? 1 : 0 }

  /// The first page of a kind that some keyspace reaches.
  func page(_ kind: UInt16) -> Int? {
    for number in 0..<3 {
      let root = Int(load(keyspace(number).offset + 40, as: UInt64.self))
      if let page = find(kind, from: root) { return page }
    }
    return nil
  }

  private func find(_ kind: UInt16, from page: Int) -> Int? {
    let flags = load(page * 4096 + 10, as: UInt16.self)
    if flags == kind { return page }
    if flags == PageFlags.branch {
      return (0..<count(page)).lazy.compactMap { find(kind, from: child(page, $0)) }.first
    }
    guard kind == PageFlags.overflow else { return nil }
    // A run of several pages, which can be told to be too short.
    for index in 0..<count(page) where load(node(page, index) + 4, as: UInt16.self) == NodeFlags.overflow {
      let first = Int(load(value(page, index), as: UInt64.self))
      if load(first * 4096 + 12, as: UInt32.self) > 1 { return first }
    }
    return nil
  }

  /// How many entries a page has, where one begins, where its value does, and which page it leads to.
  func count(_ page: Int) -> Int { (Int(load(page * 4096 + 12, as: UInt16.self)) - 16) / 2 }
  func node(_ page: Int, _ index: Int) -> Int {
    page * 4096 + Int(load(page * 4096 + 16 + 2 * index, as: UInt16.self))
  }
  func value(_ page: Int, _ index: Int) -> Int {
    node(page, index) + 8 + Int(load(node(page, index) + 6, as: UInt16.self))
  }
  func child(_ page: Int, _ index: Int) -> Int { Int(load(node(page, index), as: UInt32.self)) }

  /// The record of a keyspace, and the page it lies in. The main tree of the sample is one leaf.
  func keyspace(_ number: Int) -> (page: Int, offset: Int) {
    let root = Int(load(newestMeta * 4096 + 128, as: UInt64.self))
    return (root, value(root, number))
  }

  /// The first list of free pages, in its leaf: the page, its key, and where the count lies.
  var freeList: (page: Int, key: Int, offset: Int)? {
    let root = Int(load(newestMeta * 4096 + 80, as: UInt64.self))
    guard root >= 0, count(root) > 0 else { return nil }
    return (root, node(root, 0) + 8, value(root, 0))
  }
}

extension Int {
  /// The first page below this one that is a leaf where a branch is expected, one level deeper.
  fileprivate func nonLeaf(in store: StoreImage) -> Int {
    store.load(self * 4096 + 10, as: UInt16.self) == PageFlags.branch
      ? store.child(self, 0).nonLeaf(in: store) : self
  }
}
