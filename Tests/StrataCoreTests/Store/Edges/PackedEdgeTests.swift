import Foundation
import Testing

@testable import StrataCore

/// The packed members of relationships without order: bytes, chunks, and everything that can be wrong with them.
@Suite struct PackedEdgeTests {
  private func unpack(_ bytes: [UInt8]) -> [UInt64]? {
    bytes.withUnsafeBytes { bytes in
      var packed = PackedMembers(chunk: bytes)
      var members: ContiguousArray<UInt64> = []
      return packed.append(to: &members) ? Array(members) : nil
    }
  }

  private func pack(_ members: [UInt64]) -> [UInt8] {
    var bytes: ContiguousArray<UInt8> = []
    PackedEdges.append(ContiguousArray(members), members.indices, to: &bytes)
    return Array(bytes)
  }

  @Test func membersComeBackAsTheyWere() {
    let seed = testSeed()
    var random = RandomValues(seed: seed)
    for _ in 0..<rounds(500, long: 5_000) {
      let width = UInt64(1) << UInt64(1 + random.below(48))
      var members = Set<UInt64>()
      for _ in 0..<random.below(200) {
        let key = UInt64.random(in: 1..<max(width, 2), using: &random.generator)
        members.insert(Reference.bits(key, entityCode: UInt16(1 + random.below(random.chance(50) ? 1 : 4))))
      }
      let sorted = members.sorted()
      let bytes = pack(sorted)
      #expect(unpack(bytes) == sorted, "seed \(seed)")
      #expect(PackedEdges.length(ContiguousArray(sorted)) == bytes.count, "seed \(seed)")
      bytes.withUnsafeBytes { bytes in
        for member in sorted.prefix(20) {
          var packed = PackedMembers(chunk: bytes)
          let isThere = packed.contains(member)
          #expect(isThere)
          var other = PackedMembers(chunk: bytes)
          let isOther = other.contains(member ^ 1)
          #expect(isOther == members.contains(member ^ 1))
        }
      }
    }
  }

  /// Of packed members that change those that stay are copied as they lie: what comes out is what packing them anew would make.
  @Test func changesOfPackedMembersAgreeWithASet() {
    let seed = testSeed()
    var random = RandomValues(seed: seed)
    var merge = PackedMerge()
    for _ in 0..<rounds(2_000, long: 50_000) {
      let width = UInt64(1) << UInt64(4 + random.below(44))
      let codes = random.chance(50) ? 1 : 3
      func members(_ count: Int) -> Set<UInt64> {
        var result = Set<UInt64>()
        for _ in 0..<count {
          let key = UInt64.random(in: 1..<width, using: &random.generator)
          result.insert(Reference.bits(key, entityCode: UInt16(1 + random.below(codes))))
        }
        return result
      }
      let stored = members(random.below(60))
      var (gone, new) = (members(random.below(4)), members(random.below(4)))
      for member in stored.sorted() {
        if random.chance(20) { gone.insert(member) }
        if random.chance(10) { new.insert(member) }
      }
      let end = random.chance(50) ? UInt64.max : (stored.max() ?? 0) + 1 + UInt64(random.below(1_000_000))
      let removals = gone.sorted().map { Edge(prefix: 7, member: $0) }
      let additions = new.sorted().map { Edge(prefix: 7, member: $0) }
      var (removal, addition) = (0, 0)
      let isRead = pack(stored.sorted()).withUnsafeBytes {
        merge.run($0, removals[...], &removal, additions[...], &addition, below: end)
      }
      let (taken, put) = (gone.filter { $0 < end }, new.filter { $0 < end })
      let expected = stored.subtracting(taken).union(put)
      #expect(isRead && merge.storedCount == stored.count, "seed \(seed)")
      #expect(Array(merge.bytes) == pack(expected.sorted()), "seed \(seed)")
      #expect(merge.difference == expected.count - stored.count && merge.isChanged == (expected != stored))
      #expect(removal == taken.count && addition == put.count)
      let last = stored.max() ?? 0
      #expect(!merge.isChanged || merge.isGrowing == put.subtracting(stored).allSatisfy { $0 > last })
    }
  }

  /// Whatever the bytes are, reading them ends, and what is read ascends.
  @Test func damagedBytesAreRefused() {
    let seed = testSeed()
    var random = RandomValues(seed: seed)
    for _ in 0..<20_000 {
      var bytes = pack((1...UInt64(1 + random.below(30))).map { Reference.bits($0 * 77, entityCode: 3) })
      for _ in 0..<1 + random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      if random.chance(30) { bytes.removeLast(random.below(bytes.count)) }
      if let members = unpack(bytes) {
        #expect(zip(members, members.dropFirst()).allSatisfy { $0 < $1 }, "seed \(seed)")
        #expect(members.allSatisfy { Reference.primaryKey($0) < PrimaryKeyAllocator.limit })
      }
    }
    // Seven bytes are the longest number; a key of 2⁴⁸; members that do not ascend; an entity code cut short.
    #expect(unpack([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]) == nil)
    #expect(unpack([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0, 2]) == nil)
    #expect(unpack([3, 1, 0, 0]) == nil)
    #expect(unpack([3, 1]) == nil)
  }

  /// Members of owners with many of them come and go; the store agrees with a plain set, entries stay short.
  @Test(arguments: 0..<3) func chunksAgreeWithASet(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    print("packed edges seed \(seed)")
    var random = RandomValues(seed: seed)
    let fixture = try EdgeFixture()
    let edges = EdgeSet(relationship: fixture.relationship("links").number)
    let code = fixture.store.catalogue.relationships.code(edges)
    let keyspace = try #require(fixture.store.parts.edges)
    var model: [UInt64: Set<UInt64>] = [:]
    for step in 0..<rounds(50, long: 500) {
      var (removals, additions): (Set<Edge>, Set<Edge>) = ([], [])
      for owner in UInt64(1)...3 where random.chance(70) {
        let members = model[owner, default: []]
        let prefix = EdgeKey.prefix(code, owner)
        let base = UInt64(random.below(1_000_000)) + 1
        let count = random.pick([1, 3, 40, 900])
        for place in 0..<UInt64(count) {
          let key = random.chance(60) ? base + place : UInt64(random.below(1 << 20)) + 1
          let member = Reference.bits(key, entityCode: UInt16(1 + random.below(3) / 2))
          if random.chance(step % 3 == 0 ? 20 : 80) {
            additions.insert(Edge(prefix: prefix, member: member))
          } else {
            removals.insert(
              Edge(prefix: prefix, member: members.randomElement(using: &random.generator) ?? member))
          }
        }
        if random.chance(10) {
          // The owner loses a stretch of its members, or all of them.
          let low = random.chance(50) ? 0 : base << 16
          for member in members where member >= low { removals.insert(Edge(prefix: prefix, member: member)) }
        }
      }
      for edge in removals { model[EdgeKey.owner(edge.prefix)]?.remove(edge.member) }
      for edge in additions { model[EdgeKey.owner(edge.prefix), default: []].insert(edge.member) }
      var changes = EdgeChanges()
      changes.removals = ContiguousArray(removals)
      changes.additions = ContiguousArray(additions)
      changes.settle()
      let settled = changes
      let (parts, codes) = (fixture.store.parts, fixture.store.catalogue.relationships)
      try parts.environment.write { try settled.write(keyspace, parts, codes, $0) }
      for owner in UInt64(1)...3 {
        let expected = model[owner, default: []].sorted()
        #expect(try fixture.store.members(edges, of: owner) == expected, "seed \(seed), step \(step)")
        #expect(try fixture.store.memberCount(edges, of: owner) == expected.count)
        for member in expected.prefix(3) + expected.suffix(3) + [Reference.bits(base(step), entityCode: 1)] {
          #expect(
            try fixture.store.hasMember(edges, of: owner, member) == model[owner]?.contains(member) ?? false)
        }
      }
      try requireShortEntries(fixture, keyspace, "seed \(seed), step \(step)")
    }
  }

  private func base(_ step: Int) -> UInt64 { UInt64(step) * 7_919 + 1 }

  private func requireShortEntries(_ fixture: EdgeFixture, _ keyspace: Keyspace, _ comment: String) throws {
    try fixture.store.parts.environment.read { transaction in
      try transaction.withCursor(keyspace) { cursor in
        var last: (prefix: UInt64, member: UInt64) = (0, 0)
        var entry = try cursor.first()
        while let found = entry {
          let place = try #require(PackedPlace(found))
          var packed = try #require(place.members())
          var members: ContiguousArray<UInt64> = []
          let isSound = packed.append(to: &members)
          #expect(isSound, "\(comment)")
          #expect(found.value.count <= PackedEdges.mostBytes, "\(comment)")
          let prefix = EdgeKey.word(found.key, 0)
          if prefix != last.prefix { last.member = 0 }
          if let bound = place.bound {
            #expect(bound > last.member && !members.isEmpty && members[0] >= bound, "\(comment)")
          }
          last = (prefix, members.last ?? last.member)
          entry = try cursor.next()
        }
      }
    }
  }

  /// An owner that grows at its end has full chunks: about two bytes for each member.
  @Test func growingOwnersStayCompact() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [fixture.insert("Company", 1)])
    for round in UInt64(0)..<20 {
      try fixture.commit(
        inserts: (1...500).map {
          try fixture.insert("Person", round * 500 + $0, ["employer": ("Company", 1)])
        })
    }
    let keyspace = try #require(fixture.store.parts.edges)
    let entries = try fixture.store.parts.environment.read { try $0.entryCount(keyspace) }
    #expect(try fixture.members("employees", 1).count == 10_000)
    #expect(entries <= 20, "10,000 bytes in chunks of 900 and more")
    #expect(try fixture.store.check().problems == [])
    try fixture.commit(deletes: (1...10_000).map { fixture.delete("Person", $0) })
    #expect(try fixture.store.parts.environment.read { try $0.entryCount(keyspace) } == 0)
  }
}
