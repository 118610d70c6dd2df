import Foundation
import Strata

/// The model of the tests about transformable and composite attributes.
///
///     Parcel   label
///              options     transformable, the ready-made transformer
///              tint        transformable through `Tint.transformerName`: a struct
///              seal        transformable through `Seal.transformerName`: a mutable class
///              sketch      transformable and transient
///              address     composite: street, city (indexed), zip, and place (composite: latitude, longitude)
///              size        composite and transient: width, height
///     Depot    name, parcels ⟷ Parcel.depot
enum ParcelModel {
  static func make(_ change: ([String: EntityDescription]) -> Void = { _ in }) -> ManagedObjectModel {
    AttributeTransformers.set(CodableTransformer<Tint>(), forName: Tint.transformerName)
    AttributeTransformers.set(SealTransformer(), forName: Seal.transformerName)
    let tint = AttributeDescription("tint", .transformable)
    tint.valueTransformerName = Tint.transformerName
    tint.attributeValueClassName = "Tint"
    let seal = AttributeDescription("seal", .transformable)
    seal.valueTransformerName = Seal.transformerName
    let parcel = EntityDescription(
      "Parcel", managedObjectClass: Parcel.self,
      properties: [
        AttributeDescription("label", .string), AttributeDescription("options", .transformable), tint, seal,
        AttributeDescription("sketch", .transformable, isTransient: true), makeAddress(),
        CompositeAttributeDescription(
          "size",
          elements: [AttributeDescription("width", .double), AttributeDescription("height", .double)],
          isTransient: true),
        AttributeDescription("note", .string),
      ],
      indexes: [FetchIndexDescription(name: "byCity", attributes: ["address.city"])])
    let depot = EntityDescription("Depot", properties: [AttributeDescription("name", .string)])
    let parcels = RelationshipDescription("parcels", to: parcel, maxCount: 0)
    let home = RelationshipDescription("depot", to: depot, maxCount: 1)
    parcels.inverseRelationship = home
    home.inverseRelationship = parcels
    depot.properties.append(parcels)
    parcel.properties.append(home)
    change(["Parcel": parcel, "Depot": depot])
    return ManagedObjectModel(entities: [parcel, depot])
  }

  static func makeAddress() -> CompositeAttributeDescription {
    CompositeAttributeDescription(
      "address",
      elements: [
        AttributeDescription("street", .string), AttributeDescription("city", .string),
        AttributeDescription("zip", .integer32),
        CompositeAttributeDescription(
          "place",
          elements: [
            AttributeDescription("latitude", .double), AttributeDescription("longitude", .double),
          ]),
      ])
  }
}

/// A struct of the application's own.
struct Tint: Codable, Equatable, Sendable {
  static let transformerName = "strata.tests.Tint"
  var red = 0.0
  var green = 0.0
}

/// A mutable class of the application's own.
final class Seal: Equatable {
  static let transformerName = "strata.tests.Seal"
  var text: String
  init(_ text: String) { self.text = text }
  static func == (left: Seal, right: Seal) -> Bool { left.text == right.text }
}

/// Keeps the text as UTF-8. Refuses seals that say “refused”, and bytes that say “damaged”.
struct SealTransformer: AttributeTransformer {
  struct Refusal: Error, CustomStringConvertible { let description: String }

  func transform(_ value: Any) throws -> Data {
    guard let seal = value as? Seal, seal.text != "refused" else {
      throw Refusal(description: "this is no seal")
    }
    return Data(seal.text.utf8)
  }

  func reverse(_ data: Data) throws -> Any {
    let text = String(decoding: data, as: UTF8.self)
    if text == "damaged" { throw Refusal(description: "the seal is broken") }
    return Seal(text)
  }
}

final class Parcel: ManagedObject {
  override class var declaredSlots: [String]? {
    [
      "label", "options", "tint", "seal", "sketch", "address", "address.street", "address.city",
      "address.zip",
      "address.place", "address.place.latitude", "address.place.longitude", "size", "size.width",
      "size.height", "note", "depot",
    ]
  }
  var label: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var options: Any? {
    get { readTransformed(slot: 1) }
    set { write(transformed: newValue, slot: 1) }
  }
  var tint: Tint? {
    get { readTransformed(slot: 2) as? Tint }
    set { write(transformed: newValue, slot: 2) }
  }
  var seal: Seal? {
    get { readTransformed(slot: 3) as? Seal }
    set { write(transformed: newValue, slot: 3) }
  }
  var address: [String: Any]? {
    get { self["address"] as? [String: Any] }
    set { self["address"] = newValue }
  }
  var city: String? {
    get { readString(slot: 7) }
    set { write(newValue, slot: 7) }
  }
}

extension ManagedObjectContext {
  /// A new parcel.
  func parcel(_ label: String) -> Parcel {
    let parcel = Parcel(context: self)
    parcel.label = label
    return parcel
  }

  /// The one parcel with that label.
  func find(_ label: String) throws -> Parcel {
    let found = try parcels(Attribute("label") == label)
    guard found.count == 1 else { throw NoSuchObject(entity: "Parcel", name: label, count: found.count) }
    return found[0]
  }

  /// The parcels that match, by label.
  func parcels(_ predicate: FetchPredicate? = nil) throws -> [Parcel] {
    try fetch(
      FetchRequest<Parcel>(
        entityName: "Parcel", predicate: predicate, sortDescriptors: [FetchSort("label")]))
  }
}
