import Foundation
import Strata

/// The model the context tests live in: a surf journal, and what the rules ask for beyond it.
///
///     Entry                      a day's surf; transient attributes, two indexes
///     Surfer                     a uniqueness constraint on `email`
///     Spot (abstract)            an inheritance hierarchy
///      ├ Beach ── HiddenBeach
///      └ Reef
///     Sample                     every attribute type
///     Diary                      a class that writes down which hooks were called
///     Note                       no class of its own
///     LeftTwin, RightTwin        two entities, one class
enum SurfModel {
  /// The unchanged model, compiled once for most tests.
  static let shared = make()

  /// A model of its own, not frozen yet. `configured` adds the configurations `Journal` and `Places`.
  static func make(configured: Bool = false, _ change: (ManagedObjectModel) -> Void = { _ in })
    -> ManagedObjectModel
  {
    let model = ManagedObjectModel(
      entities: [
        makeEntry(), makeSurfer(), makeSpots(), makeSample(), makeDiary(), makeNote(), makeTwin("LeftTwin"),
        makeTwin("RightTwin"),
      ])
    if configured {
      let named = model.entitiesByName
      let places = ["Spot", "Beach", "HiddenBeach", "Reef"]
      model.setEntities(places.compactMap { named[$0] }, forConfigurationName: "Places")
      model.setEntities(
        named.values.filter { !places.contains($0.name ?? "") }, forConfigurationName: "Journal")
    }
    change(model)
    return model
  }

  private static func makeEntry() -> EntityDescription {
    EntityDescription(
      "Entry", managedObjectClass: Entry.self,
      properties: [
        AttributeDescription("day", .date),
        AttributeDescription("location", .string, isOptional: false),
        AttributeDescription("height", .double),
        AttributeDescription("rating", .integer16, defaultValue: 3),
        AttributeDescription("notes", .string),
        AttributeDescription("photo", .binaryData),
        AttributeDescription("mood", .string, isTransient: true),
        AttributeDescription("scratch", .undefined, isTransient: true),
      ],
      indexes: [
        FetchIndexDescription(name: "byLocation", attributes: ["location"]),
        FetchIndexDescription(name: "byRating", attributes: ["rating", "height"]),
      ])
  }

  private static func makeSurfer() -> EntityDescription {
    EntityDescription(
      "Surfer", managedObjectClass: Surfer.self,
      properties: [
        AttributeDescription("email", .string, isOptional: false),
        AttributeDescription("name", .string, isOptional: false),
        AttributeDescription("level", .integer32, isOptional: false, defaultValue: 1),
      ],
      uniquenessConstraints: [["email"]])
  }

  private static func makeSpots() -> EntityDescription {
    let hidden = EntityDescription(
      "HiddenBeach", managedObjectClass: HiddenBeach.self,
      properties: [AttributeDescription("secret", .string)])
    let beach = EntityDescription(
      "Beach", managedObjectClass: Beach.self, properties: [AttributeDescription("sand", .string)],
      subentities: [hidden])
    let reef = EntityDescription(
      "Reef", managedObjectClass: Reef.self, properties: [AttributeDescription("depth", .double)])
    return EntityDescription(
      "Spot", managedObjectClass: Spot.self, isAbstract: true,
      properties: [AttributeDescription("name", .string), AttributeDescription("latitude", .double)],
      indexes: [FetchIndexDescription(name: "byName", attributes: ["name"])], subentities: [beach, reef])
  }

  private static func makeSample() -> EntityDescription {
    EntityDescription(
      "Sample", managedObjectClass: Sample.self,
      properties: [
        AttributeDescription("int16", .integer16), AttributeDescription("int32", .integer32),
        AttributeDescription("int64", .integer64), AttributeDescription("decimal", .decimal),
        AttributeDescription("double", .double), AttributeDescription("float", .float),
        AttributeDescription("string", .string), AttributeDescription("boolean", .boolean),
        AttributeDescription("date", .date), AttributeDescription("data", .binaryData),
        AttributeDescription("uuid", .uuid), AttributeDescription("uri", .uri),
      ])
  }

  private static func makeDiary() -> EntityDescription {
    EntityDescription(
      "Diary", managedObjectClass: Diary.self,
      properties: [
        AttributeDescription("title", .string, isOptional: false, defaultValue: "untitled"),
        AttributeDescription("pages", .integer64, isOptional: false, defaultValue: 0),
        AttributeDescription("remark", .string),
        AttributeDescription("tide", .string, isTransient: true, defaultValue: "low"),
      ])
  }

  private static func makeNote() -> EntityDescription {
    EntityDescription(
      "Note",
      properties: [AttributeDescription("key", .string), AttributeDescription("text", .string)])
  }

  private static func makeTwin(_ name: String) -> EntityDescription {
    EntityDescription(
      name, managedObjectClass: Twin.self, properties: [AttributeDescription("name", .string)])
  }
}
