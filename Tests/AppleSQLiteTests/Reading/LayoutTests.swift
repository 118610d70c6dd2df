import Foundation
import StrataCore
import Testing

@testable import StrataAppleSQLite

/// Names that were seen in stores of real apps.
@Suite struct LayoutTests {
  private func pair(_ a: RelationshipDescription, _ b: RelationshipDescription) {
    a.inverseRelationship = b
    b.inverseRelationship = a
  }

  /// A model with messages of several kinds, as a messenger has.
  private func model() -> ManagedObjectModel {
    let (conversation, label) = (EntityDescription("Conversation"), EntityDescription("Label"))
    let (message, system, text) = (
      EntityDescription("Message"), EntityDescription("SystemMessage"), EntityDescription("TextMessage")
    )
    let (labels, conversations) = (
      RelationshipDescription("labels", to: label, maxCount: 0),
      RelationshipDescription("conversations", to: conversation, maxCount: 0)
    )
    pair(labels, conversations)
    let quote = RelationshipDescription("quote", to: message, maxCount: 1)
    let metadata = RelationshipDescription("metadata", to: label, maxCount: 0)
    let (queue, queued) = (
      RelationshipDescription("queue", to: message, maxCount: 0, isOrdered: true),
      RelationshipDescription("queuedIn", to: conversation, maxCount: 1)
    )
    pair(queue, queued)
    let (clients, byClients) = (
      RelationshipDescription("trustedClients", to: label, maxCount: 0, isOrdered: true),
      RelationshipDescription("trustedByClients", to: label, maxCount: 0)
    )
    pair(clients, byClients)
    conversation.properties = [labels, metadata, queue]
    label.properties = [conversations, clients, byClients]
    message.properties = [quote, queued, AttributeDescription("fooBar", .string)]
    system.properties = [AttributeDescription("text", .string)]
    text.properties = [
      AttributeDescription("text", .string),
      CompositeAttributeDescription("address", elements: [AttributeDescription("street", .string)]),
    ]
    message.subentities = [system, text]
    return ManagedObjectModel(entities: [conversation, label, message])
  }

  private let numbers: [String: Int64] = [
    "Conversation": 5, "Label": 8, "Message": 10, "SystemMessage": 11, "TextMessage": 12,
  ]

  private let columns: [String: Set<String>] = [
    "ZCONVERSATION": ["Z_PK", "Z_ENT", "Z_OPT"],
    "ZLABEL": ["Z_PK", "Z_ENT", "Z_OPT", "Z5METADATA"],
    "ZMESSAGE": [
      "Z_PK", "Z_ENT", "Z_OPT", "ZQUOTE", "Z10_QUOTE", "ZQUEUEDIN", "Z_FOK_QUEUEDIN", "ZFOOBAR", "ZTEXT",
      "ZTEXT1",
      "ZSTREET",
    ],
    "Z_5LABELS": ["Z_5CONVERSATIONS", "Z_8LABELS"],
    // Relationships of an entity with itself: either end may name the table.
    "Z_8TRUSTEDBYCLIENTS": ["Z_8TRUSTEDCLIENTS", "Z_8TRUSTEDBYCLIENTS", "Z_FOK_8TRUSTEDCLIENTS"],
  ]

  @Test(arguments: [true, false])
  func namesAreThoseOfRealStores(isThere: Bool) throws {
    var columns = columns
    if !isThere { columns = [:] }
    let schema = try model().schema()
    let layout = try AppleLayout(schema, numbers: numbers, columns: isThere ? columns : nil)
    func attribute(_ entity: String, _ path: String) throws -> String? {
      let number = try #require(schema.entity(named: entity)).number
      return layout.entities[number]?.attributes.first { $0.path == path }?.column
    }
    #expect(try attribute("SystemMessage", "text") == "ZTEXT")
    #expect(try attribute("TextMessage", "text") == "ZTEXT1")
    #expect(try attribute("TextMessage", "fooBar") == "ZFOOBAR")
    #expect(try attribute("TextMessage", "address.street") == "ZSTREET")
    let message = try #require(schema.entity(named: "TextMessage")).number
    let quote = layout.entities[message]?.links.first { $0.relationship.name == "quote" }
    #expect(quote?.column == "ZQUOTE" && quote?.targetColumn == "Z10_QUOTE")
    // Conversation has no subentities.
    #expect(layout.entities[message]?.links.first { $0.relationship.name == "queuedIn" }?.targetColumn == nil)
    let queue = layout.owned.first { $0.relationship.name == "queue" }
    #expect(
      queue?.table == "ZMESSAGE" && queue?.column == "ZQUEUEDIN" && queue?.orderColumn == "Z_FOK_QUEUEDIN")
    let metadata = layout.owned.first { $0.relationship.name == "metadata" }
    #expect(metadata?.table == "ZLABEL" && metadata?.column == "Z5METADATA")
    let labels = try #require(layout.joins.first { $0.table == "Z_5LABELS" })
    let isLabels = labels.relationship.name == "labels"
    #expect(labels.memberColumn == (isLabels ? "Z_8LABELS" : "Z_5CONVERSATIONS"))
    #expect(labels.ownerColumn == (isLabels ? "Z_5CONVERSATIONS" : "Z_8LABELS"))
    let clients = try #require(layout.joins.first { $0.relationship.name == "trustedClients" })
    #expect(clients.table == (isThere ? "Z_8TRUSTEDBYCLIENTS" : "Z_8TRUSTEDBYCLIENTS"))
    #expect(clients.memberColumn == "Z_8TRUSTEDCLIENTS" && clients.orderColumn == "Z_FOK_8TRUSTEDCLIENTS")
  }

  /// Neither form of the second column was seen in a store of a real app: both are read.
  @Test(arguments: ["REFLEXIVE", "Z_8FRIENDS1"], [false, true])
  func aRelationshipThatIsItsOwnInverse(other: String, isOrdered: Bool) throws {
    let model = model()
    let label = try #require(model.entitiesByName["Label"])
    let friends = RelationshipDescription("friends", to: label, maxCount: 0, isOrdered: isOrdered)
    friends.inverseRelationship = friends
    label.properties.append(friends)
    var columns = columns
    columns["Z_8FRIENDS"] = ["Z_8FRIENDS", other, "Z_FOK_8FRIENDS"]
    let layout = try AppleLayout(try model.schema(), numbers: numbers, columns: columns)
    let join = try #require(layout.joins.first { $0.table == "Z_8FRIENDS" })
    #expect(join.isSymmetric && join.memberColumn == "Z_8FRIENDS" && join.ownerColumn == other)
    #expect(join.orderColumn == (isOrdered ? "Z_FOK_8FRIENDS" : nil))
    // It is a name of its own only there.
    columns["Z_8FRIENDS"] = nil
    columns["Z_5LABELS"] = ["Z_8LABELS", "REFLEXIVE"]
    #expect(throws: AppleStoreError.self) {
      try AppleLayout(try self.model().schema(), numbers: numbers, columns: columns)
    }
  }

  @Test func numbersOfAnEarlierModelInNamesAreFound() throws {
    var columns = columns
    columns["Z_5LABELS"] = nil
    columns["Z_4LABELS"] = ["Z_4CONVERSATIONS", "Z_7LABELS"]
    let layout = try AppleLayout(try model().schema(), numbers: numbers, columns: columns)
    let join = try #require(layout.joins.first { $0.table == "Z_4LABELS" })
    #expect([join.memberColumn, join.ownerColumn].sorted() == ["Z_4CONVERSATIONS", "Z_7LABELS"])
  }

  @Test(arguments: [
    ("ZMESSAGE", "ZTEXT1"), ("ZLABEL", "Z5METADATA"), ("ZMESSAGE", "Z_FOK_QUEUEDIN"), ("Z_5LABELS", ""),
  ])
  func whatIsMissingIsNamed(table: String, column: String) throws {
    var columns = columns
    if column.isEmpty { columns[table] = nil } else { columns[table]?.remove(column) }
    let schema = try model().schema()
    let error = #expect(throws: AppleStoreError.self) {
      try AppleLayout(schema, numbers: numbers, columns: columns)
    }
    #expect(error?.kind == .model)
    let name = column == "ZTEXT1" ? "ZTEXT for TextMessage.text" : column.isEmpty ? table : column
    #expect(error?.description.contains(name) == true, "\(error?.description ?? "")")
  }

  @Test func entitiesAreNumberedByHierarchyAndName() throws {
    let numbers = AppleTables.numbers(try model().schema(), held: Set(self.numbers.keys))
    #expect(
      numbers == ["Conversation": 1, "Label": 2, "Message": 3, "SystemMessage": 4, "TextMessage": 5])
  }
}
