import Foundation
import Strata
import Testing

/// What becomes of composite attributes and their elements (rule 307).
struct CompositeMigrationTests {
  /// An element, a required one without `value` has no default value.
  private static func element(
    _ name: String, isOptional: Bool = true, value: Double? = nil, _ type: AttributeType = .double
  ) -> AttributeDescription {
    AttributeDescription(name, type, isOptional: isOptional, defaultValue: value)
  }

  private static func model(
    _ place: [AttributeDescription]?, isOptional: Bool = true, others: [PropertyDescription] = []
  ) -> ManagedObjectModel {
    let composite = place.map { CompositeAttributeDescription("place", elements: $0, isOptional: isOptional) }
    let properties: [PropertyDescription] = [AttributeDescription("name", .string)]
    return ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: properties + (composite.map { [$0] } ?? []) + others)
    ])
  }

  /// Why the change of the model cannot be inferred; nothing when it can.
  private static func reasons(_ old: ManagedObjectModel, _ new: ManagedObjectModel) throws -> [String] {
    do {
      _ = try InferredMappingModel(from: old, to: new)
      return []
    } catch let error as CoreDataError {
      #expect(error.code == .inferredMappingModel)
      return try #require(error.userInfo[InferredMappingModel.reasonsKey] as? [String])
    }
  }

  @Test("rule 307: what rows would miss in a composite attribute that they may have is refused, by its path")
  func missingElements() throws {
    func place() -> [AttributeDescription] { [Self.element("x"), Self.element("y", isOptional: false)] }
    let old = { Self.model(place()) }
    let new = " is new and mandatory, and has no default value"
    let mandatory = " becomes mandatory, and has no default value"
    #expect(
      try Self.reasons(old(), Self.model(place() + [Self.element("z", isOptional: false)]))
        == ["Spot.place.z" + new])
    let stricter = [Self.element("x", isOptional: false), Self.element("y", isOptional: false)]
    #expect(try Self.reasons(old(), Self.model(stricter)) == ["Spot.place.x" + mandatory])
    #expect(try Self.reasons(old(), Self.model(place(), isOptional: false)) == ["Spot.place" + mandatory])
    #expect(
      try Self.reasons(Self.model(nil), Self.model(place(), isOptional: false)) == ["Spot.place.y" + new])
    #expect(
      try Self.reasons(Self.model(nil), Self.model([Self.element("x")], isOptional: false))
        == ["Spot.place" + new])
    // An element that is a composite attribute itself.
    func inner(isOptional: Bool) -> AttributeDescription {
      CompositeAttributeDescription(
        "inner", elements: [Self.element("q", isOptional: false)], isOptional: isOptional)
    }
    #expect(
      try Self.reasons(old(), Self.model(place() + [inner(isOptional: false)]))
        == ["Spot.place.inner.q" + new])
    let bytes = AttributeDescription("place", .binaryData)
    #expect(
      try Self.reasons(Self.model(nil, others: [bytes]), old())
        == ["Spot.place has another type: composite, it was binaryData"])
    // What no row has, misses nothing.
    #expect(try Self.reasons(Self.model(nil), old()) == [])
    #expect(try Self.reasons(old(), Self.model(place() + [inner(isOptional: true)])) == [])
    #expect(try Self.reasons(old(), Self.model(place() + [Self.element("z")])) == [])
    #expect(
      try Self.reasons(old(), Self.model(place() + [Self.element("z", isOptional: false, value: 1)])) == [])
    #expect(try Self.reasons(Self.model(place(), isOptional: false), old()) == [])
  }

  /// By name.
  private func places(_ context: ManagedObjectContext) throws -> [String: [String: Double]] {
    try context.objectsByName("Spot").compactMapValues { $0.value(forKey: "place") as? [String: Double] }
  }

  @Test("rule 307: a composite attribute that is nil stays nil, whatever default values its elements have")
  func nilStaysNil() throws {
    let stand = try MigrationStand()
    func x() -> AttributeDescription { Self.element("x", isOptional: false, value: 9) }
    func y(isOptional: Bool) -> AttributeDescription {
      Self.element("y", isOptional: isOptional, value: isOptional ? nil : 7)
    }
    let first = try stand.open(
      Self.model([x(), y(isOptional: true)], others: [AttributeDescription("gone", .string)]))
    try first.performAndWait {
      first.newObject("Spot", ["name": "none"]).setValue(nil, forKey: "place")
      first.newObject("Spot", ["name": "one"]).setValue(["x": 1.0], forKey: "place")
      first.newObject("Spot", ["name": "new"])
      try first.save()
      #expect(try places(first) == ["one": ["x": 1], "new": ["x": 9]])
    }
    // Something goes: all rows are written anew.
    let second = try stand.open(Self.model([x(), y(isOptional: true)])) {
      $0.permittedLosses = ["Spot.gone"]
    }
    try second.performAndWait { () throws in
      #expect(try places(second) == ["one": ["x": 1], "new": ["x": 9]])
    }
    // An element becomes mandatory, another one is new.
    let third = try stand.open(
      Self.model([x(), y(isOptional: false), Self.element("z", isOptional: false, value: 3)]))
    try third.performAndWait {
      #expect(try places(third) == ["one": ["x": 1, "y": 7, "z": 3], "new": ["x": 9, "y": 7, "z": 3]])
      for object in try third.objectsByName("Spot").values { object.setValue("edited", forKey: "name") }
      try third.save()
    }
    #expect(try stand.problems() == [])
    try stand.close()
  }

  @Test("rule 307: a new element has its default value in rows whose composite attribute may not be nil")
  func mandatoryComposite() throws {
    let stand = try MigrationStand()
    func x() -> AttributeDescription { Self.element("x", isOptional: false, value: 9) }
    let first = try stand.open(Self.model([x()], isOptional: false))
    try first.performAndWait {
      first.newObject("Spot", ["name": "one"])
      try first.save()
    }
    let second = try stand.open(
      Self.model([x(), Self.element("y", isOptional: false, value: 7)], isOptional: false))
    try second.performAndWait { () throws in
      #expect(try places(second) == ["one": ["x": 9, "y": 7]])
    }
    try stand.close()
  }

  @Test("the name of a composite attribute permits the loss of its elements, in composites within it too")
  func permittedAsAWhole() throws {
    let stand = try MigrationStand()
    func inner() -> AttributeDescription {
      CompositeAttributeDescription("inner", elements: [Self.element("q"), Self.element("r")])
    }
    let first = try stand.open(Self.model([Self.element("x"), Self.element("y"), inner()]))
    try first.performAndWait {
      first.newObject(
        "Spot", ["name": "one", "place": ["x": 1.0, "y": 2.0, "inner": ["q": 3.0]] as [String: Any]])
      try first.save()
    }
    func losses(_ model: ManagedObjectModel, permitting permitted: Set<String>) throws -> [String: Int]? {
      let error = #expect(throws: CoreDataError.self) {
        _ = try stand.open(model) { $0.permittedLosses = permitted }
      }
      return error?.errorUserInfo[MigrationPermission.lossesKey] as? [String: Int]
    }
    // Neither the entity nor a name that begins in the same way.
    #expect(
      try losses(Self.model(nil), permitting: ["Spot.place.inner", "Spot.pla", "Spot.place.x", "Spot"])
        == ["Spot.place.y": 1])
    let second = try stand.open(Self.model([Self.element("x"), Self.element("y")])) {
      $0.permittedLosses = ["Spot.place.inner"]
    }
    try second.performAndWait { () throws in
      #expect(try places(second) == ["one": ["x": 1, "y": 2]])
    }
    let third = try stand.open(Self.model(nil)) { $0.permittedLosses = ["Spot.place"] }
    let count = try third.performAndWait { try third.objectsByName("Spot").count }
    #expect(count == 1)
    #expect(try stand.problems() == [])
    try stand.close()
  }
}
