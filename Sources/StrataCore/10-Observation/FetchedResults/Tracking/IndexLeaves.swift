import Dispatch
import Foundation
import Synchronization

/// The leaves of a list, made of the sort keys that lie in an index: what is on many pages is packed in several threads at once.
struct IndexLeaves {
  /// What some pages in a row give.
  private struct Part {
    let memory: EntryMemory
    var leaves: [(count: Int, layout: PackedEntries.Layout, offset: Int)] = []
    /// Where sections begin, and the value that names each. The first entry of a part always begins one.
    var sections: [(place: Int, value: AttributeValue)] = []
  }

  private let parts: [Part]
  private let code: UInt16

  /// So many pages are packed in one go.
  private static let pagesInPart = 128

  /// Nil when an index does not have it all, since a value was too long for its key; and when keys do not lie inside their pages, or are not in order there.
  ///
  /// Reads every key once, in threads that the calling one waits for.
  init?(_ keys: SortKeysOnPages, store: Int, code: UInt16, hasSections: Bool) {
    self.code = code
    let count = (keys.runs.count + Self.pagesInPart - 1) / Self.pagesInPart
    var parts = [Part?](repeating: nil, count: count)
    let hasFailed = Atomic(false)
    parts.withUnsafeMutableBufferPointer { parts in
      // Unsafe: each iteration writes a place of its own, and all are done when this returns.
      nonisolated(unsafe) let parts = parts
      @Sendable func make(_ number: Int) {
        // What is left to a fetch is not packed for nothing.
        if hasFailed.load(ordering: .relaxed) { return }
        let start = number * Self.pagesInPart
        let runs = keys.runs[start..<min(start + Self.pagesInPart, keys.runs.count)]
        parts[number] = Self.part(keys, runs, store, hasSections)
        if parts[number] == nil { hasFailed.store(true, ordering: .relaxed) }
      }
      if count > 1 {
        DispatchQueue.concurrentPerform(iterations: count) { make($0) }
      } else if count == 1 {
        make(0)
      }
    }
    self.parts = parts.compactMap { $0 }
    if self.parts.count < count { return nil }
  }

  private static func part(
    _ keys: SortKeysOnPages, _ runs: ArraySlice<PageTree.Run>, _ store: Int, _ hasSections: Bool
  ) -> Part? {
    // All heads first: what is waited for then comes together, and is near when the keys are copied.
    for (number, run) in zip(runs.indices, runs) {
      if number + 1 < runs.endIndex { runs[number + 1].prefetch() }
      guard let lengths = run.keyLengths(), lengths.lowerBound > 8 else { return nil }
    }
    // With its head, its place and its primary key an entry takes more room on its page than packed.
    let room = runs.reduce(0) { $0 + $1.pageSize }
    var packing = Packing(keys: keys, store: store, hasSections: hasSections, room: room)
    let capacity = EntryNode.indexedEntries
    return withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer.self, capacity: capacity) { pending in
      guard let start = pending.baseAddress else { return nil }
      var count = 0
      for run in runs {
        var next = run.entries.lowerBound
        while next < run.entries.upperBound {
          let end = min(run.entries.upperBound, next + capacity - count)
          while next < end {
            (start + count).initialize(to: run.knownKey(next))
            count += 1
            next += 1
          }
          if count < capacity { continue }
          guard packing.add(UnsafeBufferPointer(start: start, count: count)) else { return nil }
          count = 0
        }
      }
      guard packing.add(UnsafeBufferPointer(start: start, count: count)) else { return nil }
      return packing.finish()
    }
  }

  /// Packs leaf after leaf into one memory.
  private struct Packing {
    let keys: SortKeysOnPages
    let store: Int
    let hasSections: Bool
    let room: Int
    private var part: Part
    private var used = 0
    private var total = 0
    /// The last key of the leaf before.
    private var previous: UnsafeRawBufferPointer?
    /// What the keys of the section begin with that was begun last.
    private var section: UnsafeRawBufferPointer?

    init(keys: SortKeysOnPages, store: Int, hasSections: Bool, room: Int) {
      self.keys = keys
      self.store = store
      self.hasSections = hasSections
      self.room = room
      part = Part(memory: EntryMemory(byteCount: room))
    }

    @inline(__always)
    private static func sortKey(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: key.baseAddress, count: key.count - 8)
    }

    /// False when a key is not whole, or none of the index's.
    mutating func add(_ entries: UnsafeBufferPointer<UnsafeRawBufferPointer>) -> Bool {
      if entries.isEmpty { return true }
      let (count, store) = (entries.count, store)
      let layout = PackedEntries.Layout(
        count: count, identity: { ResultEntry.identity(PrimaryKeyBytes.last(of: entries[$0]), store: store) },
        key: { Self.sortKey(entries[$0]) })
      guard used + layout.byteCount <= room, areInOrder(entries), areWhole(entries, layout),
        !hasSections || addSections(entries)
      else { return false }
      previous = entries[count - 1]
      layout.write(
        count: count, to: part.memory.start + used,
        identity: { ResultEntry.identity(PrimaryKeyBytes.last(of: entries[$0]), store: store) },
        key: { Self.sortKey(entries[$0]) })
      part.leaves.append((count, layout, used))
      used += layout.byteCount
      total += count
      return true
    }

    /// Whether each key is above the one before it, also above the last one of the leaf before: a list is searched by its order.
    private func areInOrder(_ entries: UnsafeBufferPointer<UnsafeRawBufferPointer>) -> Bool {
      var last = previous
      for key in entries {
        if let last, KeyOrder.order(last, key) >= 0 { return false }
        last = key
      }
      return true
    }

    private func areWhole(
      _ entries: UnsafeBufferPointer<UnsafeRawBufferPointer>, _ layout: PackedEntries.Layout
    ) -> Bool {
      if layout.longestKey < keys.shortestCut { return true }
      return entries.allSatisfy { keys.lengthOfFirst(Self.sortKey($0)) != nil }
    }

    private mutating func addSections(_ entries: UnsafeBufferPointer<UnsafeRawBufferPointer>) -> Bool {
      guard let last = firstPart(entries[entries.count - 1]) else { return false }
      // In order: what the last one begins with, all have had since the section began.
      if let section, KeyOrder.order(section, last) == 0 { return true }
      for place in entries.indices {
        guard let first = firstPart(entries[place]) else { return false }
        if let section, KeyOrder.order(section, first) == 0 { continue }
        guard let value = keys.firstValue(entries[place]) else { return false }
        section = first
        part.sections.append((total + place, value))
      }
      return true
    }

    private func firstPart(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
      let sortKey = Self.sortKey(key)
      return keys.lengthOfFirst(sortKey).map { UnsafeRawBufferPointer(rebasing: sortKey.prefix($0)) }
    }

    consuming func finish() -> Part {
      part.memory.shrink(to: used)
      return part
    }
  }

  /// The entries of each leaf. Names the sections, for which code of the application may be called: not inside a transaction.
  func packed(_ names: SectionNames, hasSections: Bool) -> [PackedEntries] {
    let only = hasSections ? 0 : names.numberOfOnly()
    var result: [PackedEntries] = []
    result.reserveCapacity(parts.reduce(0) { $0 + $1.leaves.count })
    for part in parts {
      var starts = part.sections.map { (place: $0.place, number: names.number(for: $0.value)) }[...]
      var section = only
      var start = 0
      for leaf in part.leaves {
        let end = start + leaf.count
        if let first = starts.first, first.place == start {
          section = first.number
          starts.removeFirst()
        }
        let entries = PackedEntries(
          count: leaf.count, leaf.layout, in: part.memory, at: leaf.offset, code: code, section: section)
        if let next = starts.first, next.place < end {
          var sections = ContiguousArray(repeating: section, count: leaf.count)
          while let next = starts.first, next.place < end {
            section = next.number
            starts.removeFirst()
            let behind = min(starts.first?.place ?? end, end)
            for place in next.place..<behind { sections[place - start] = section }
          }
          result.append(PackedEntries(entries, sections: sections))
        } else {
          result.append(entries)
        }
        start = end
      }
    }
    return result
  }
}
