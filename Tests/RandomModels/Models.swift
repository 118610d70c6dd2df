import SwiftData

enum Mood: String, Codable, CaseIterable, Sendable { case calm, merry, sad }

struct Point: Codable, Hashable, Sendable {
  var x: Double
  var y: Double?
}

@Model
class Thing {
  var uid: Int
  var name = ""
  var note: String?
  var weight = 0.0
  var count: Int32?
  var born = Date(timeIntervalSinceReferenceDate: 0)
  var mood = Mood.calm
  var point = Point(x: 0, y: nil)
  var words: [String] = []
  @Attribute(.externalStorage) var payload: Data?
  var owner: Person?
  var labels: [Label] = []

  class var kind: Kind { .thing }

  required init(uid: Int) { self.uid = uid }
}

@Model
final class Tool: Thing {
  override class var kind: Kind { .tool }

  var grade = 3
  @Relationship(deleteRule: .cascade, inverse: \Part.tool) var parts: [Part] = []

  required init(uid: Int) { super.init(uid: uid) }
}

@Model
final class Toy: Thing {
  override class var kind: Kind { .toy }

  var colour: String?

  required init(uid: Int) { super.init(uid: uid) }
}

@Model
final class Part {
  var uid: Int
  var name = ""
  var size: Int16 = 0
  var tool: Tool?

  init(uid: Int) { self.uid = uid }
}

@Model
final class Person {
  #Index<Person>([\.name])

  var uid: Int
  var name = ""
  var born: Date?
  @Relationship(inverse: \Thing.owner) var things: [Thing] = []
  @Relationship(deleteRule: .cascade, inverse: \House.tenant) var house: House?
  @Relationship(inverse: \Person.staff) var boss: Person?
  var staff: [Person] = []

  init(uid: Int) { self.uid = uid }
}

@Model
final class Label {
  var uid: Int
  var text = ""
  @Relationship(inverse: \Thing.labels) var things: [Thing] = []

  init(uid: Int) { self.uid = uid }
}

@Model
final class House {
  var uid: Int
  var street = ""
  var tenant: Person?

  init(uid: Int) { self.uid = uid }
}
