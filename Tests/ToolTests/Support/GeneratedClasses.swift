// swift-format-ignore-file
// What `strata schema --swift` writes for the model in Everything.swift. STRATA_RECORD=1 writes it anew.
import Foundation
import Strata

// Give the model its classes before a store is added:
//   for (name, type) in modelClasses { model.entitiesByName[name]?.managedObjectClass = type }
let modelClasses: [String: ManagedObject.Type] = [
  "Group": Group.self,
  "Special": Special.self,
  "Thing": Thing.self,
]

final class Group: ManagedObject {
  static let name = Slot<Group, String?>("name")
  static let things = Slot<Group, Set<Thing>>("things")
  static let queue = Slot<Group, [Thing]>("queue")
  static let tagged = Slot<Group, Set<Thing>>("tagged")
  static let steps = Slot<Group, [Thing]>("steps")
  static let loose = Slot<Group, Set<Thing>>("loose")
  static let size = Slot<Group, Int?>("size")
  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(Group.name),
      NamedSlot(Group.things),
      NamedSlot(Group.queue),
      NamedSlot(Group.tagged),
      NamedSlot(Group.steps),
      NamedSlot(Group.loose),
      NamedSlot(Group.size),
    ]
  }

  var name: String? {
    get { read(Group.name) }
    set { write(newValue, Group.name) }
  }
  var things: Set<Thing> {
    get { read(Group.things) }
    set { write(newValue, Group.things) }
  }
  var queue: [Thing] {
    get { read(Group.queue) }
    set { write(newValue, Group.queue) }
  }
  var tagged: Set<Thing> {
    get { read(Group.tagged) }
    set { write(newValue, Group.tagged) }
  }
  var steps: [Thing] {
    get { read(Group.steps) }
    set { write(newValue, Group.steps) }
  }
  var loose: Set<Thing> {
    get { read(Group.loose) }
    set { write(newValue, Group.loose) }
  }
  var size: Int? { read(Group.size) }
}

final class Special: Thing {
  static let extra = Slot<Special, String?>("extra")
  static let number = Slot<Special, Int?>("number")
  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(Special.extra),
      NamedSlot(Special.number),
    ]
  }

  var extra: String? {
    get { read(Special.extra) }
    set { write(newValue, Special.extra) }
  }
  var number: Int? {
    get { read(Special.number) }
    set { write(newValue, Special.number) }
  }
}

class Thing: ManagedObject {
  static let text = Slot<Thing, String?>("text")
  static let int16 = Slot<Thing, Int16?>("int16")
  static let int32 = Slot<Thing, Int32?>("int32")
  static let int64 = Slot<Thing, Int?>("int64")
  static let decimal = Slot<Thing, Decimal?>("decimal")
  static let double = Slot<Thing, Double?>("double")
  static let float = Slot<Thing, Float?>("float")
  static let flag = Slot<Thing, Bool?>("flag")
  static let date = Slot<Thing, Date?>("date")
  static let data = Slot<Thing, Data?>("data")
  static let uuid = Slot<Thing, UUID?>("uuid")
  static let uri = Slot<Thing, URL?>("uri")
  static let kind = Slot<Thing, String>("kind")
  static let loud = Slot<Thing, String?>("loud")
  static let changed = Slot<Thing, Date?>("changed")
  static let group = Slot<Thing, Group?>("group")
  static let queuedIn = Slot<Thing, Group?>("queuedIn")
  static let tags = Slot<Thing, Set<Group>>("tags")
  static let stepOf = Slot<Thing, [Group]>("stepOf")
  static let partner = Slot<Thing, Thing?>("partner")
  static let partnerOf = Slot<Thing, Thing?>("partnerOf")
  static let friends = Slot<Thing, Set<Thing>>("friends")
  static let mentor = Slot<Thing, Thing?>("mentor")
  override class var namedSlots: [NamedSlot]? {
    [
      NamedSlot(Thing.text),
      NamedSlot(Thing.int16),
      NamedSlot(Thing.int32),
      NamedSlot(Thing.int64),
      NamedSlot(Thing.decimal),
      NamedSlot(Thing.double),
      NamedSlot(Thing.float),
      NamedSlot(Thing.flag),
      NamedSlot(Thing.date),
      NamedSlot(Thing.data),
      NamedSlot(Thing.uuid),
      NamedSlot(Thing.uri),
      NamedSlot("list", .attribute(.transformable), typeName: "Any?"),
      NamedSlot("address", .attribute(.composite), typeName: "Any?"),
      NamedSlot(Thing.kind),
      NamedSlot("memo", .attribute(.string), typeName: "Any?"),
      NamedSlot(Thing.loud),
      NamedSlot(Thing.changed),
      NamedSlot(Thing.group),
      NamedSlot(Thing.queuedIn),
      NamedSlot(Thing.tags),
      NamedSlot(Thing.stepOf),
      NamedSlot(Thing.partner),
      NamedSlot(Thing.partnerOf),
      NamedSlot(Thing.friends),
      NamedSlot(Thing.mentor),
    ]
  }

  var text: String? {
    get { read(Thing.text) }
    set { write(newValue, Thing.text) }
  }
  var int16: Int16? {
    get { read(Thing.int16) }
    set { write(newValue, Thing.int16) }
  }
  var int32: Int32? {
    get { read(Thing.int32) }
    set { write(newValue, Thing.int32) }
  }
  var int64: Int? {
    get { read(Thing.int64) }
    set { write(newValue, Thing.int64) }
  }
  var decimal: Decimal? {
    get { read(Thing.decimal) }
    set { write(newValue, Thing.decimal) }
  }
  var double: Double? {
    get { read(Thing.double) }
    set { write(newValue, Thing.double) }
  }
  var float: Float? {
    get { read(Thing.float) }
    set { write(newValue, Thing.float) }
  }
  var flag: Bool? {
    get { read(Thing.flag) }
    set { write(newValue, Thing.flag) }
  }
  var date: Date? {
    get { read(Thing.date) }
    set { write(newValue, Thing.date) }
  }
  var data: Data? {
    get { read(Thing.data) }
    set { write(newValue, Thing.data) }
  }
  var uuid: UUID? {
    get { read(Thing.uuid) }
    set { write(newValue, Thing.uuid) }
  }
  var uri: URL? {
    get { read(Thing.uri) }
    set { write(newValue, Thing.uri) }
  }
  var list: Any? {
    get { value(forKey: "list") }
    set { setValue(newValue, forKey: "list") }
  }
  var address: Any? {
    get { value(forKey: "address") }
    set { setValue(newValue, forKey: "address") }
  }
  var kind: String {
    get { read(Thing.kind) }
    set { write(newValue, Thing.kind) }
  }
  var memo: Any? {
    get { value(forKey: "memo") }
    set { setValue(newValue, forKey: "memo") }
  }
  var loud: String? { read(Thing.loud) }
  var changed: Date? { read(Thing.changed) }
  var group: Group? {
    get { read(Thing.group) }
    set { write(newValue, Thing.group) }
  }
  var queuedIn: Group? {
    get { read(Thing.queuedIn) }
    set { write(newValue, Thing.queuedIn) }
  }
  var tags: Set<Group> {
    get { read(Thing.tags) }
    set { write(newValue, Thing.tags) }
  }
  var stepOf: [Group] {
    get { read(Thing.stepOf) }
    set { write(newValue, Thing.stepOf) }
  }
  var partner: Thing? {
    get { read(Thing.partner) }
    set { write(newValue, Thing.partner) }
  }
  var partnerOf: Thing? {
    get { read(Thing.partnerOf) }
    set { write(newValue, Thing.partnerOf) }
  }
  var friends: Set<Thing> {
    get { read(Thing.friends) }
    set { write(newValue, Thing.friends) }
  }
  var mentor: Thing? {
    get { read(Thing.mentor) }
    set { write(newValue, Thing.mentor) }
  }
}
