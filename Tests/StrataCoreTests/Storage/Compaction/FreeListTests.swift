import Foundation
import Synchronization
import Testing

@testable import StrataCore

@Suite("The free list, written anew")
struct FreeListTests {
  /// A file of `lastPage` pages, of which the first ones up to `used` are in use, and all others are free since transaction 5: those of the list lie at the front.
  private static func file(lastPage: UInt64, used: UInt64, newest: UInt64) throws -> PagedFile {
    let file = PagedFile()
    let free = (used + 1...lastPage).reversed()
    let size = 8 * (free.count + 1)
    let run = (PageHeader.size + size + 4_095) / 4_096
    try #require(2 + UInt64(run) <= used)
    // The tree is one leaf, page 2; its value begins at page 3.
    var leaf = [UInt8](repeating: 0, count: 4_096)
    var value = [UInt8](repeating: 0, count: run * 4_096)
    leaf.withUnsafeMutableBytes { leaf in
      leaf.storeBytes(of: 2, as: UInt64.self)
      leaf.storeBytes(of: PageFlags.leaf, toByteOffset: 10, as: UInt16.self)
      leaf.storeBytes(of: 18, toByteOffset: 12, as: UInt16.self)
      leaf.storeBytes(of: 4_072, toByteOffset: 14, as: UInt16.self)
      leaf.storeBytes(of: 4_072, toByteOffset: 16, as: UInt16.self)
      leaf.storeBytes(of: UInt32(size), toByteOffset: 4_072, as: UInt32.self)
      leaf.storeBytes(of: NodeFlags.overflow, toByteOffset: 4_076, as: UInt16.self)
      leaf.storeBytes(of: 8, toByteOffset: 4_078, as: UInt16.self)
      leaf.storeBytes(of: 5, toByteOffset: 4_080, as: UInt64.self)
      leaf.storeBytes(of: 3, toByteOffset: 4_088, as: UInt64.self)
    }
    value.withUnsafeMutableBytes { value in
      value.storeBytes(of: 3, as: UInt64.self)
      value.storeBytes(of: PageFlags.overflow, toByteOffset: 10, as: UInt16.self)
      value.storeBytes(of: UInt32(run), toByteOffset: 12, as: UInt32.self)
      value.storeBytes(of: UInt64(free.count), toByteOffset: 16, as: UInt64.self)
      for (index, page) in free.enumerated() {
        value.storeBytes(of: page, toByteOffset: 24 + 8 * index, as: UInt64.self)
      }
    }
    file.write(leaf, at: 2)
    file.write(value, at: 3)
    var anchor = MetaPage.emptyStore(pageSize: 4_096)
    anchor.removeSubrange(MetaPage.size...)
    anchor.withUnsafeMutableBytes { anchor in
      anchor.storeBytes(of: UInt64(1) << 40, toByteOffset: 32, as: UInt64.self)
      anchor.storeBytes(of: 1, toByteOffset: 46, as: UInt16.self)
      anchor.storeBytes(of: 2, toByteOffset: 80, as: UInt64.self)
      anchor.storeBytes(of: lastPage, toByteOffset: 136, as: UInt64.self)
      anchor.storeBytes(of: newest, toByteOffset: 144, as: UInt64.self)
    }
    file.anchor = anchor
    return file
  }

  struct Size: Sendable, CustomStringConvertible {
    let lastPage: UInt64
    let used: UInt64
    let newest: UInt64
    var description: String { "\(lastPage) pages, \(used) used, transaction \(newest)" }
  }

  private static let sizes: [Size] =
    [(20_000, 9), (100_000, 20), (100_000, 100_000)].map { Size(lastPage: $0, used: 400, newest: $1) }
    // A record has room for 509 pages: with some of these sizes, what the list itself takes leaves nothing for the last one.
    + (1_408..<1_448).map { Size(lastPage: $0, used: 400, newest: 100_000) }

  @Test("every free page is in it once, in ascending order; the end is cut off", arguments: sizes)
  func isWhole(_ size: Size) throws {
    let file = try Self.file(lastPage: size.lastPage, used: size.used, newest: size.newest)
    // A page at the end is in use: nothing can be cut off.
    let list = try FreeList(MetaPage(file.anchor), file.source)
    let free = Set(list.records.flatMap(\.pages))
    #expect(free.count == Int(size.lastPage - size.used))
    let cut = try #require(FreeListDraft(list, anchor: file.anchor, oldest: size.newest))
    #expect(cut.pageCount <= Int(size.used) + 8, "the list itself is all that comes behind")
    #expect(cut.usable.isEmpty)

    var anchor = file.anchor
    anchor.withUnsafeMutableBytes { $0.storeBytes(of: size.lastPage + 1, toByteOffset: 136, as: UInt64.self) }
    file.anchor = anchor
    let draft = try #require(FreeListDraft(list, anchor: anchor, oldest: size.newest))
    #expect(draft.pageCount == Int(size.lastPage) + 2)
    for (page, bytes) in draft.writes { file.write(bytes, at: page) }
    let meta = MetaPage(draft.anchor)
    let again = try FreeList(meta, file.source)
    #expect(again.records.map(\.transactionID) == again.records.map(\.transactionID).sorted())
    #expect(UInt64(again.records.count) == meta.freeTree.entries)
    let usable = again.records.dropLast().flatMap { $0.pages.reversed() }
    #expect(usable == draft.usable)
    #expect(usable == usable.sorted())
    let own = again.treePages + again.records.flatMap { Array($0.run) }
    let recent = try #require(again.records.last)
    #expect(recent.transactionID == size.newest)
    // Nothing is lost, and nothing is there twice.
    let all = usable + own + recent.pages
    #expect(all.count == Set(all).count)
    #expect(Set(all) == free.union(list.treePages).union(list.records.flatMap { Array($0.run) }))
  }

  @Test("a list of damaged bytes is refused, and never read beyond its pages")
  func damaged() throws {
    var random = SeededGenerator(seed: testSeed())
    let sound = try Self.file(lastPage: 2_000, used: 40, newest: 9)
    for _ in 0..<rounds(300, long: 20_000) {
      let file = PagedFile(sound)
      for _ in 0..<Int.random(in: 1..<4, using: &random) {
        let place = Int.random(in: 0..<8_192 + 64, using: &random)
        let offset = place < 4_096 ? 4_072 + place % 24 : place < 8_192 ? place % 32 : 4_096 + place % 64
        file.change(offset, at: 2, to: UInt8.random(in: 0...255, using: &random))
      }
      do {
        let list = try FreeList(MetaPage(file.anchor), file.source)
        for record in list.records {
          #expect(record.pages.allSatisfy { $0 >= 2 && $0 <= 2_000 })
        }
      } catch let error as StorageError {
        #expect(error.kind == .damaged)
      }
    }
  }
}

/// A file in memory, of whose pages few were written.
private final class PagedFile: Sendable {
  private struct State {
    var pages: [UInt64: [UInt8]] = [:]
    var anchor: [UInt8] = []
  }
  private let state = Mutex(State())

  init() {}

  init(_ other: PagedFile) {
    let copy = other.state.withLock { $0 }
    state.withLock { $0 = copy }
  }

  var anchor: [UInt8] {
    get { state.withLock { $0.anchor } }
    set { state.withLock { $0.anchor = newValue } }
  }

  func write(_ bytes: [UInt8], at page: UInt64) {
    state.withLock { state in
      for start in stride(from: 0, to: bytes.count, by: 4_096) {
        var piece = Array(bytes[start..<min(start + 4_096, bytes.count)])
        piece += [UInt8](repeating: 0, count: 4_096 - piece.count)
        state.pages[page + UInt64(start / 4_096)] = piece
      }
    }
  }

  /// Changes a byte that many bytes behind the start of a page.
  func change(_ offset: Int, at page: UInt64, to byte: UInt8) {
    state.withLock { $0.pages[page + UInt64(offset / 4_096)]?[offset % 4_096] = byte }
  }

  var source: PageSource {
    var system = FileSystem.system
    system.read = { _, buffer, offset in
      self.state.withLock { state in
        guard let page = state.pages[UInt64(offset / 4_096)] else { return 0 }
        let part = page[(offset % 4_096)...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
      }
    }
    return PageSource(
      file: StoreFile(path: "/nowhere/Test.strata", directory: "/nowhere", system: system), descriptor: 0)
  }
}
