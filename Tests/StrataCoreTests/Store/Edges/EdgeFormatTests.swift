import Foundation
import Testing

@testable import StrataCore

/// Docs/FileFormat.md describes edges byte by byte; the file agrees.
@Suite struct EdgeFormatTests {
  @Test func edgesAreTheDocumentedBytes() throws {
    let player = EntityDescription("Player", properties: [])
    let mentor = RelationshipDescription("mentor", to: player, maxCount: 1)
    let team = EntityDescription("Team", properties: [])
    let own = RelationshipDescription("team", to: team, maxCount: 1)
    let members = RelationshipDescription("members", to: player, maxCount: 0, isOrdered: true)
    own.inverseRelationship = members
    members.inverseRelationship = own
    player.properties = [mentor, own]
    team.properties = [members]
    let fixture = try StoreFixture(model: ManagedObjectModel(entities: [player, team]))
    func reference(_ entity: String, _ key: UInt64) -> AttributeValue {
      .reference(
        Reference.bits(
          key, entityCode: fixture.store.rowStamp(entity: fixture.entity(entity).number).entityCode))
    }
    try fixture.commit(inserts: [
      fixture.insert("Team", [:], key: 1),
      fixture.insert("Player", ["team": reference("Team", 1)], key: 1),
      fixture.insert("Player", ["team": reference("Team", 1), "mentor": reference("Player", 1)], key: 2),
      fixture.insert("Player", ["mentor": reference("Player", 1)], key: 300),
    ])
    fixture.close()
    let file = try RawStore(fixture.url)
    let document = try DocumentedBytes()
    var documented: [(key: [UInt8], value: [UInt8])] = []
    for line in try document.lines("edges") {
      let bytes = try #require(line.bytes)
      if line.name == "value" {
        documented[documented.count - 1].value = bytes
      } else {
        documented.append((bytes, []))
      }
    }
    let stored = try #require(file.keyspaces["edges"]).entries
    #expect(stored.map(\.key) == documented.map(\.key))
    #expect(stored.map(\.value) == documented.map(\.value))
    let meta = try #require(file.keyspaces["meta"]).entries.map {
      (String(decoding: $0.key, as: UTF8.self), $0.value)
    }
    for line in try document.lines("relationships in meta") {
      #expect(meta.first { $0.0 == line.name }?.1 == line.bytes, "\(line.name)")
    }
    let row = try #require(file.keyspaces["rows:Player"]?.entries.dropLast().last).value
    let lines = try document.lines("row of a player")
    #expect(Array(row.dropFirst(4)) == lines.flatMap { $0.bytes ?? [] })
  }
}
